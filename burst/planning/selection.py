"""Which jobs may burst, and why each other burstable job may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import durations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.planning.records import BurstableJob, BurstSelection


def wants_burst(wish: Any) -> bool:
    """Return whether a user asked for it: by true, by 1 (`--setattr=burstable`), or by a provider's name."""
    return wish is True or (type(wish) is int and wish == 1) or (isinstance(wish, str) and wish != "")


def is_burstable(job: BurstableJob) -> bool:
    """Return whether a user asked for a job's burst."""
    return wants_burst(job.wish)


def provider_of(job: BurstableJob) -> str | None:
    """Return the provider that the job names; None: any is right."""
    return job.wish if isinstance(job.wish, str) else None


def limit_of(job: BurstableJob, selection: BurstSelection) -> float:
    """Return the time limit by which a job is planned, 0 without one."""
    return job.limit or selection.assume or 0.0


def obstacle(job: BurstableJob, selection: BurstSelection) -> str:
    """Return why a burstable job cannot burst as it is, whatever selectors say; empty if it can."""
    return next(_obstacles(job, selection), "")


def by_document(job: BurstableJob, selection: BurstSelection, now: float) -> str:
    """Return why a job does not burst now by `spec.bursting.select`: at once if it never fits, else later."""
    if not job.fits_here:
        return "" if selection.never_fits else "it can never run here, and select.neverFits is false"
    if selection.after is None:
        return "it can run here, and select.waiting is false"
    waited = now - job.submitted
    if waited >= selection.after:
        return ""
    spans = (durations.encode(max(waited, 0.0)), durations.encode(selection.after))
    return "it can run here, and has waited {} of {}".format(*spans)


def _obstacles(job: BurstableJob, selection: BurstSelection) -> Iterator[str]:
    if not job.priority:
        yield "it is on hold (urgency 0)"
    if job.depends:
        yield "it depends on other jobs, or on a time"
    if job.constrained:
        yield "it has constraints of its own, so that its queue cannot be changed"
    if selection.users and job.user not in selection.users:
        yield f"select.users does not have {job.user}"
    if not limit_of(job, selection):
        yield "it has no time limit, and select.assumeSeconds is not set: its cost has no bound"
