"""What has come of a rehearsal, as rows: every value in plain units, times in seconds from its begin on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from broker_config.formats.burst_names import DEFAULT_QUEUE
from burst.ledger import bursts, reservations
from burst.ledger import jobs as job_table
from burst.lifecycle.states import BurstState
from burst.planning import money
from burst.planning.plan import ALL
from burst.rehearsal.jobs import JobPhase
from burst.rehearsal.rehearsal import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.lifecycle.records import BurstRecord
    from burst.rehearsal.jobs import RehearsedJob
    from burst.rehearsal.rehearsal import Rehearsal

HERE, NEVER, REFUSED = "here", "never", "refused"


async def of(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return what has come of a rehearsal that is over. Raises DatabaseError."""
    found = await rehearsal.ledger.read(lambda connection: _bursts(rehearsal, connection))
    charged = {name: await rehearsal.ledger.read(_spent(f"provider:{name}")) for name in rehearsal.providers}
    jobs = rehearsal.instance.jobs
    return {
        "begin": rehearsal.file.scenario.begin,
        "seconds": _seconds(rehearsal.clock.now - rehearsal.file.begin),
        "currency": rehearsal.file.settings.settings.currency,
        "bursts": found,
        "waits": _waits(jobs, alone(rehearsal.file)),
        "budgets": _budgets(rehearsal),
        "clouds": [_cloud(rehearsal, name, charged[name]) for name in rehearsal.providers],
        "left_out": [_left_out(rehearsal, job) for job in jobs.values() if _is_left_out(rehearsal, job)],
        "unmet_faults": _unmet(rehearsal),
    }


async def _bursts(rehearsal: Rehearsal, connection: AsyncConnection) -> list[dict[str, Any]]:
    every = await bursts.all_of_them(connection)
    return [await _burst(rehearsal, connection, each) for each in every]


async def _burst(rehearsal: Rehearsal, connection: AsyncConnection, burst: BurstRecord) -> dict[str, Any]:
    amounts = await reservations.of_burst(connection, burst.id)
    assigned = await job_table.of_burst(connection, burst.id)
    is_over = burst.state is BurstState.DELETED
    return {
        "burst": burst.label,
        "at": _seconds(burst.created - rehearsal.file.begin),
        "ended": _seconds(burst.state_since - rehearsal.file.begin) if is_over else None,
        "slot": burst.slot,
        "provider": burst.provider,
        "machine": burst.machine,
        "spot": burst.spot,
        "nodes": burst.nodes,
        "jobs": [each.job for each in assigned],
        "state": burst.state.value,
        "outcome": burst.outcome.value if burst.outcome is not None else None,
        "reason": burst.reason,
        "reserved": money.encode(burst.amounts.get(ALL, 0)),
        "cost": money.encode(amounts.get(ALL, 0)),
    }


def _waits(jobs: Mapping[int, RehearsedJob], without: Mapping[int, RehearsedJob]) -> list[dict[str, Any]]:
    """Return how long jobs have waited, and would have without bursts."""
    chosen: dict[str, Callable[[RehearsedJob], bool]] = {
        "all": lambda _: True,
        "burstable": lambda job: job.wish is not None,
        "others": lambda job: job.wish is None,
    }
    return [
        {
            "jobs": name,
            "number": sum(map(is_chosen, jobs.values())),
            **_wait(filter(is_chosen, jobs.values()), ""),
            **_wait(filter(is_chosen, without.values()), "_without"),
        }
        for name, is_chosen in chosen.items()
    ]


def _wait(jobs: Iterable[RehearsedJob], suffix: str) -> dict[str, Any]:
    found = list(jobs)
    waits = [each.started - each.submitted for each in found if each.started is not None and each.runs]
    return {
        f"ran{suffix}": len(waits),
        f"mean_wait{suffix}": _seconds(sum(waits) / len(waits)) if waits else None,
        f"longest_wait{suffix}": _seconds(max(waits)) if waits else None,
    }


def _budgets(rehearsal: Rehearsal) -> list[dict[str, Any]]:
    """Return each budget, with what was used of it in one period at most."""
    return [
        {
            "scope": each.scope,
            "amount": money.encode(each.limit.amount),
            "used": money.encode(each.most),
            "is_kept": each.most <= each.limit.amount,
        }
        for each in sorted(rehearsal.used.values(), key=lambda each: (each.scope, each.limit.amount))
    ]


def _cloud(rehearsal: Rehearsal, name: str, charged: int) -> dict[str, Any]:
    """Return the cloud's bill beside what the ledger has, and what the cloud lists at the end."""
    found = rehearsal.providers[name]
    listed = found.provider.owned(rehearsal.installation)
    return {
        "provider": name,
        "bill": money.encode(found.cloud.bill()),
        "cost": money.encode(charged),
        "machines": len(found.cloud.machines),
        "calls": dict(sorted(Counter(found.cloud.calls).items())),
        "left": sorted(f"{each.key.kind} {each.key.name}" for each in listed),
    }


def _is_left_out(rehearsal: Rehearsal, job: RehearsedJob) -> bool:
    return job.id in rehearsal.reasons and (not job.runs or job.where == DEFAULT_QUEUE)


def _left_out(rehearsal: Rehearsal, job: RehearsedJob) -> dict[str, Any]:
    """Return why a burstable job did not burst, and where it has run."""
    ran = HERE if job.runs else REFUSED if job.phase is JobPhase.REFUSED else NEVER
    return {
        "job": job.id,
        "user": job.user,
        "submitted": _seconds(job.submitted - rehearsal.file.begin),
        "ran": ran,
        "reason": rehearsal.reasons[job.id],
    }


def _unmet(rehearsal: Rehearsal) -> list[str]:
    """Return the faults that were ordered, and that no call has met."""
    found = []
    for name, each in rehearsal.providers.items():
        found += [f"{name}: {call} {number}" for call, number in each.cloud.numbered]
        found += [f"{name}: {call}" for call, waiting in each.cloud.faults.items() for _ in waiting]
    return sorted(found)


def _spent(scope: str) -> Callable[[AsyncConnection], Any]:
    return lambda connection: reservations.spent(connection, scope)


def _seconds(value: float) -> float:
    return round(value, 1)
