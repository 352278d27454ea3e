"""What is told of a dump: a record in the status, and an Event."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from minicluster.plan.constants import Reason
from minicluster.plan.fields import passed, present
from minicluster.plan.records import Event
from minicluster.plan.times import timestamp

if TYPE_CHECKING:
    from minicluster.plan.fields import Object
    from minicluster.plan.records import Dump, Pairs
    from minicluster.spec import Status

SHOWN = 16
"""How many jobs a message names."""


def is_new(dump: Dump | None, stored: Status) -> bool:
    """Whether the status does not tell of this dump yet, nor of a newer one."""
    if dump is None:
        return False
    known = stored.last_dump.time if stored.last_dump else None
    return known is None or datetime.fromisoformat(known) < dump.time.replace(microsecond=0)


def last(dump: Dump | None, stored: Status) -> Object:
    """Return what the status says of the latest dump; empty where there was none."""
    if dump is None or not is_new(dump, stored):
        return passed(stored.last_dump)
    counts = {"jobs": dump.jobs, "restarted": dump.restarted_total, "lost": dump.lost_total}
    return present(path=dump.path, time=timestamp(dump.time), bytes=dump.bytes, **counts)


def events(dump: Dump | None, stored: Status) -> tuple[Event, ...]:
    """Return the Event about a dump that is new."""
    if dump is None or not is_new(dump, stored):
        return ()
    return (Event("Warning" if dump.lost_total else "Normal", Reason.SAVED, sentence(dump)),)


def sentence(dump: Dump) -> str:
    """Return what was saved, and which jobs could not finish."""
    saved = f"{_jobs(dump.jobs)} saved to {dump.path} ({dump.bytes} bytes)"
    return f"{saved}{outcomes(dump.restarted, dump.lost, dump.restarted_total, dump.lost_total)}"


def outcomes(restarted: Pairs, lost: Pairs, restarted_total: int = 0, lost_total: int = 0) -> str:
    """Return what became of jobs that could not finish, to be put behind something."""
    again = [f"{old} as {new}" for old, new in restarted]
    gone = [f"{job} ({why})" for job, why in lost]
    return _listed("started again", again, restarted_total) + _listed("lost", gone, lost_total)


def _listed(what: str, named: list[str], total: int) -> str:
    if not named and not total:
        return ""
    shown = named[:SHOWN]
    more = max(total, len(named)) - len(shown)
    return f"; {what}: {', '.join((*shown, *((f'{more} more',) if more else ())))}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
