"""Bursts and plans as rows: with every field for programs, and as columns for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from burst.lifecycle.states import BurstState
from burst.planning import money
from burst.planning.plan import ALL, digest
from minicluster.cli.tables import age

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from burst.costs.running import RunningBurst
    from burst.ledger.journal import JournalEntry
    from burst.lifecycle.records import AssignedJob, BurstRecord
    from burst.planner import ClusterPlan

BURST_COLUMNS = (
    *("burst", "cluster", "slot", "provider", "nodes", "state", "outcome", "jobs", "age", "cost"),
    "reason",
)
PLAN_COLUMNS = ("slot", "provider", "machine", "nodes", "ready", "until", "worst", "likely", "jobs")
LEFT_OUT_COLUMNS = ("job", "reason")


def of_burst(
    burst: BurstRecord, jobs: Sequence[AssignedJob], amounts: Mapping[str, int], now: float
) -> dict[str, Any]:
    """Return a burst as a row, every value in plain units."""
    return {
        **burst.row,
        "location": burst.location,
        "isolated": burst.isolated,
        "state_since": burst.state_since,
        "jobs": [{"id": each.job, "user": each.user, "outcome": each.outcome} for each in jobs],
        "until": burst.until,
        "age": now - burst.created,
        "cost": money.encode(amounts.get(ALL, 0)),
        "is_final": burst.state is BurstState.DELETED,
    }


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a burst as people read it."""
    cost = row["cost"] if row["is_final"] else f"<= {row['cost']}"
    shown_as = {"jobs": len(row["jobs"]), "age": age(row["age"]), "machine": _machine(row)}
    return {**row, **shown_as, "cost": cost}


def of_plan(planned: ClusterPlan, currency: str) -> dict[str, Any]:
    """Return a plan with every field: durations in seconds, money as decimal text."""
    return {
        "cluster": planned.cluster.name,
        "digest": digest(planned.plan),
        "dry_run": planned.policy.is_dry,
        "currency": currency,
        "worst": money.encode(planned.plan.worst),
        "bursts": [
            {
                **each._asdict(),
                "price": money.encode(each.price),
                "fee": money.encode(each.fee),
                "worst": money.encode(each.worst),
                "likely": money.encode(each.likely),
                "portions": {user: money.encode(amount) for user, amount in each.portions.items()},
            }
            for each in planned.plan.bursts
        ],
        "left_out": [each._asdict() for each in planned.plan.left_out],
    }


def shown_bursts(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the bursts of a plan as people read them."""
    return [
        {
            **each,
            "machine": _machine(each),
            "ready": age(each["ready"]),
            "until": age(each["until"]),
            "jobs": " ".join(map(jobid.f58, each["jobs"])),
        }
        for each in plan["bursts"]
    ]


def _machine(row: Mapping[str, Any]) -> str:
    return f"{row['machine']} (spot)" if row["spot"] else str(row["machine"])


def shown_left_out(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the jobs that a plan leaves out as people read them."""
    return [{**each, "job": jobid.f58(each["job"])} for each in plan["left_out"]]


def details(
    row: Mapping[str, Any], running: RunningBurst, journal: Sequence[JournalEntry], now: float
) -> dict[str, Any]:
    """Return all that is known of a burst."""
    counts = running.counts
    made = [
        {
            "kind": each.key.kind,
            "name": each.key.name,
            "nodes": each.key.nodes,
            "intent_at": each.intent_at,
            "made_at": each.made_at,
            "gone_at": each.gone_at,
        }
        for each in running.resources
    ]
    lines = [{"at": each.at, "text": each.text} for each in journal]
    return {
        **row,
        "nodes_there": counts[-1].nodes if counts else 0,
        "cost_so_far": row["cost"] if row["is_final"] else money.encode(running.cost(now)),
        "resources": made,
        "node_counts": [each._asdict() for each in counts],
        "journal": lines,
    }
