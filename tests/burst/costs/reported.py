"""Bursts as a ledger has them after some days, for tests of what is shown of costs."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from burst.costs.budgets import PeriodBudget
from burst.costs.report.records import ReportData, ReportedBurst
from burst.costs.rows import cost_rows
from burst.ledger.spending import ScopeSpending
from burst.lifecycle.metering import NodeCount
from burst.lifecycle.records import BurstRecord, ResourceKey, ResourceRecord
from burst.lifecycle.states import BurstOutcome, BurstState
from burst.planning.money import MICRO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BEGIN = 1_793_491_200.0
"""2026-11-01 00:00 UTC."""
HOUR, DAY = 3600.0, 86400.0
S = BurstState


def burst(number: int, at: float, **given: object) -> BurstRecord:
    """A burst of four nodes at 1.50 an hour, which has cost at most 9."""
    values: dict[str, object] = {
        "id": f"{number:026}",
        "cluster": "uid-1",
        "cluster_name": "physics/mc",
        "slot": f"burst-{number % 3}",
        "provider": "far",
        "location": "far-1",
        "machine": "c8",
        "nodes": 4,
        "created": at,
        "until": at + 2 * HOUR,
        "price": 3 * MICRO // 2,
        "amounts": {"all": 9 * MICRO, "provider:far": 9 * MICRO, "user:alice": 9 * MICRO},
        "state": S.DELETED,
        "state_since": at + 1.2 * HOUR,
        "outcome": BurstOutcome.SUCCEEDED,
        "reason": "it has nothing to do",
    }
    return BurstRecord(**{**values, **given})  # type: ignore[arg-type]


def lived(number: int, at: float, **given: object) -> ReportedBurst:
    """The same with an hour of all of its nodes, and charged for that."""
    made = burst(number, at, empty_since=at + 1.1 * HOUR, **given)
    key = ResourceKey("nodes", f"mcb-{made.label}", made.nodes)
    states = [
        (at, S.REQUESTED),
        (at + 1, S.PLANNED),
        (at + 2, S.PROVISIONING),
        (at + 180, S.JOINING),
        (at + 240, S.ACTIVE),
        (at + 0.9 * HOUR, S.DRAINING),
        (at + HOUR, S.DELETING),
        (at + 1.2 * HOUR, S.DELETED),
    ]
    counts = [NodeCount(at + 0.1 * HOUR, made.nodes), NodeCount(at + 1.1 * HOUR, 0)]
    made_at, gone_at = counts[0].at, counts[1].at
    resources = [ResourceRecord(made.id, 0, key, at + 2, made_at, gone_at)]
    charged = made.price * made.nodes
    return ReportedBurst(made, resources, counts, states, at + 1, charged)


def still_there(number: int, at: float, **given: object) -> ReportedBurst:
    """One that is being deleted since an hour after its creation."""
    found = lived(number, at, state=S.DELETING, state_since=at + HOUR, **given)
    open_burst = burst(number, at, state=S.DELETING, state_since=at + HOUR, **given)
    return found._replace(burst=open_burst, counts=found.counts[:1], states=found.states[:7], charged=None)


def many(count: int) -> Iterator[ReportedBurst]:
    """Bursts of three weeks, in twelve slots of three MiniClusters, at four providers."""
    random = Random(count)
    free = {
        (cluster, slot): BEGIN for cluster in ("physics/md", "physics/qcd", "bio/fold") for slot in range(4)
    }
    for number in range(count):
        (cluster, slot), at = min(free.items(), key=lambda item: item[1])
        at += random.expovariate(1 / (2 * HOUR))
        given: dict[str, object] = {
            "cluster_name": cluster,
            "slot": f"burst-{slot}",
            "provider": random.choice(("gke", "eks", "compute-engine", "research")),
            "machine": random.choice(("c2-standard-60", "hpc7a.96xlarge", "n2d-highcpu-96")),
            "nodes": random.choice((2, 4, 8, 16)),
            "spot": random.random() < 0.3,
        }
        if random.random() < 0.15:
            reason = "nodes mcb-x is broken: 2 of 4 nodes came: there are no more"
            given |= {"outcome": BurstOutcome.FAILED, "reason": reason}
        yield lived(number, at, **given)
        free[cluster, slot] = at + random.uniform(1.3, 9) * HOUR


def report(bursts: Sequence[ReportedBurst], now: float = BEGIN + 20 * DAY, budget: int = 4000) -> ReportData:
    """A report on bursts since the month's begin, with a budget of all of them."""
    charged = sum(each.charged or 0 for each in bursts)
    reserved = sum(9 * MICRO for each in bursts if each.charged is None)
    spent = [
        ScopeSpending(scope, charged, reserved, {BEGIN: charged + reserved})
        for scope in ("all", "provider:far", "user:alice")
    ]
    budgets = [PeriodBudget("all", budget * MICRO, "month", BEGIN)]
    return ReportData(BEGIN, now, "EUR", bursts, cost_rows(spent if bursts else [], budgets))
