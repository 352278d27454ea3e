"""The latest dump: a record in the status, and an Event."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from minicluster.plan.constants import Reason
from minicluster.plan.objects.fields import passed, present
from minicluster.plan.records import KubernetesEvent
from minicluster.plan.status import restarted_jobs
from minicluster.plan.status.times import timestamp

if TYPE_CHECKING:
    from minicluster.document import RestartedJob, Status
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Dump


def is_new(dump: Dump | None, stored: Status) -> bool:
    """Return whether the status has neither this dump nor a newer one."""
    if dump is None:
        return False
    known = stored.last_dump.time if stored.last_dump else None
    return known is None or datetime.fromisoformat(known) < dump.time.replace(microsecond=0)


def last(dump: Dump | None, stored: Status) -> Object:
    """Return the status' record of the latest dump; empty where there was none."""
    if dump is None or not is_new(dump, stored):
        return passed(stored.last_dump)
    counts = {"jobs": dump.jobs, "restarted": dump.restarted_total, "lost": dump.lost_total}
    return present(path=dump.path, time=timestamp(dump.time), bytes=dump.bytes, **counts)


def jobs(dump: Dump | None, stored: Status) -> tuple[RestartedJob, ...]:
    """Return the jobs of the latest dump that could not finish."""
    if dump is None or not is_new(dump, stored):
        return restarted_jobs.of_cause(stored.restarted_jobs, "Save")
    return restarted_jobs.records("Save", dump.restarted, dump.lost)


def events(dump: Dump | None, stored: Status) -> tuple[KubernetesEvent, ...]:
    """Return the Event about a dump that is new."""
    if dump is None or not is_new(dump, stored):
        return ()
    return (KubernetesEvent("Warning" if dump.lost_total else "Normal", Reason.SAVED, sentence(dump)),)


def sentence(dump: Dump) -> str:
    """Return the message about a dump: what was saved, and which jobs could not finish."""
    named = restarted_jobs.records("Save", dump.restarted, dump.lost)
    became = restarted_jobs.sentence(named, dump.restarted_total, dump.lost_total)
    return f"{_saved(dump.jobs, dump.path, dump.bytes)}{became}"


def stored_sentence(stored: Status) -> str:
    """Return the same message about the dump in the status."""
    dump = stored.last_dump
    if dump is None:
        return "the instance was saved"
    named = restarted_jobs.of_cause(stored.restarted_jobs, "Save")
    became = restarted_jobs.sentence(named, dump.restarted, dump.lost)
    return f"{_saved(dump.jobs, dump.path, dump.bytes)}{became}"


def _saved(jobs: int, path: str, size: int) -> str:
    return f"{'1 job' if jobs == 1 else f'{jobs} jobs'} saved to {path} ({size} bytes)"
