"""Jobs that could not finish where they ran: their records in the status, and their text in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from minicluster.document import MAX_NAMED_JOBS, RestartedJob

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.plan.records import Pairs

RestartCause = Literal["Save", "Resize", "NodeLoss"]


def records(cause: RestartCause, restarted: Pairs, lost: Pairs) -> tuple[RestartedJob, ...]:
    """Return the status' records of the first jobs in (old id, new id) and in (id, why)."""
    return (
        *(RestartedJob(job=old, new_job=new, cause=cause) for old, new in restarted[:MAX_NAMED_JOBS]),
        *(RestartedJob(job=job, why=why, cause=cause) for job, why in lost[:MAX_NAMED_JOBS]),
    )


def of_cause(jobs: Iterable[RestartedJob], cause: RestartCause) -> tuple[RestartedJob, ...]:
    """Return the jobs that could not finish for one cause."""
    return tuple(each for each in jobs if each.cause == cause)


def sentence(jobs: Iterable[RestartedJob], restarted: int, lost: int) -> str:
    """Return what became of jobs, as the end of a message; `restarted` and `lost` count all of them."""
    named = tuple(jobs)
    again = [f"{each.job} as {each.new_job}" for each in named if each.new_job]
    gone = [f"{each.job} ({each.why})" for each in named if not each.new_job]
    return _listed("started again", again, restarted) + _listed("lost", gone, lost)


def _listed(what: str, named: Sequence[str], total: int) -> str:
    if not named and not total:
        return ""
    shown = list(named[:MAX_NAMED_JOBS])
    more = max(total, len(named)) - len(shown)
    return f"; {what}: {', '.join((*shown, *((f'{more} more',) if more else ())))}"
