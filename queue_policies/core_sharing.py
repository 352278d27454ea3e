"""Jobs that share cores: who may, and a check of what a policy answers about it.

A host holds cores. Its guests run on the same cores. Each may use a fraction of their time, its quota.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.sharing import CoreSharing, SharingConsent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.records import CpuQuota, QueuedJob, RunningJob, Start, State

EPSILON = 1e-9
"""By so much fractions may sum to more than 1: they are added as floats."""


def needs_sharing(policy: object) -> bool:
    """Return whether a policy is of no use where jobs cannot share cores: it has such an attribute."""
    return bool(getattr(policy, "needs_sharing", False))


def agreed(host: RunningJob, guest: QueuedJob) -> bool:
    """Return whether these two agreed to share cores: of two users' jobs, both must have said so.

    A guest can measure what its host does, and the other way round.
    """
    roles = (host.consent, SharingConsent.HOST), (guest.consent, SharingConsent.GUEST)
    own = host.user == guest.user
    return all(consent is role or (own and consent is None) for consent, role in roles)


def whole(cores: float) -> bool:
    """Return whether this is a whole number of cores, but at least one."""
    return cores > 0.5 and abs(cores - round(cores)) < EPSILON * max(1.0, cores)


class SharingChecker:
    """Checks guests and quotas in the order in which an engine applies them."""

    def __init__(self, state: State, least: float) -> None:
        self._state = state
        self._sharing = state.sharing
        self._least = least
        self._quotas: dict[int, float] = {}  # that were set in this answer
        self._sizes: dict[int, int] = {}  # of jobs that start in this answer
        self._hosts: dict[int, int] = {}  # of guests that start in this answer
        self._guests: dict[int, list[int]] = {}  # the same, by host

    def begin(self, job: int, size: int) -> None:
        """Note that a job starts on cores of its own."""
        self._sizes[job] = size

    def start(self, guest: QueuedJob, size: int, action: Start, left: Iterable[int]) -> str | None:
        """Return what is wrong with the start of a guest. `left`: jobs that stop or resize in this answer."""
        running, on = self._state.running, action.on
        if on is None:
            return f"starts job {guest.id} with a fraction of {action.fraction:g} of no job's cores"
        wrong = "which does not run" if on not in running else self._no_host(running[on], guest, size, left)
        if self._sharing is None:
            wrong = "but jobs cannot share cores here"
        elif not wrong and action.after:
            wrong = "after others shrank, which free no core there"
        if wrong:
            return f"starts job {guest.id} on the cores of job {on}, {wrong}"
        self._hosts[guest.id] = on
        self._guests.setdefault(on, []).append(guest.id)
        self._sizes[guest.id] = size
        too_much = self._set(guest.id, action.fraction)
        return too_much and f"starts job {guest.id} on the cores of job {on} {too_much}"

    def quota(self, action: CpuQuota) -> str | None:
        """Return what is wrong with a quota."""
        job, running = action.job, self._state.running
        if self._sharing is None:
            wrong = ", but jobs cannot share cores here"
        elif job not in running and job not in self._sizes:
            wrong = ", which does not run"
        elif job in running and (running[job].stopping or running[job].waits):
            wrong = ", which stops" if running[job].stopping else ", which has not begun"
        else:
            found = self._set(job, action.fraction)
            wrong = f" {found}" if found else ""
        return f"sets a quota for job {job}{wrong}" if wrong else None

    def involves(self, job: int) -> bool:
        """Return whether a running job is a host or a guest, with the guests of this answer."""
        known = self._state.running[job]
        return known.host is not None or bool(known.guests) or job in self._guests

    def _no_host(self, host: RunningJob, guest: QueuedJob, size: int, left: Iterable[int]) -> str:
        """Return why a running job takes no guest, or not this one; empty: it does."""
        guests = len(host.guests) + len(self._guests.get(host.id, ()))
        most = (self._sharing or CoreSharing()).guests
        if host.stopping or host.waits:
            return "which stops" if host.stopping else "which has not begun"
        if host.id in left:
            return "which stops or resizes in the same answer"
        if host.host is not None:
            return f"which is a guest of job {host.host}"
        if guests >= most:
            return f"which has {guests} guest{'s' * (guests != 1)} already; {most} may be on one job's cores"
        if size > host.size:
            return f"which has {host.size} units where it asks for {size}"
        return "" if agreed(host, guest) else "which does not share its cores with this one"

    def _set(self, job: int, fraction: float) -> str | None:
        """Set a quota, and return what is wrong with it."""
        if not 0 < fraction <= 1:
            return f"at a fraction of {fraction:g}; needed is one above 0, up to 1"
        sharing = self._sharing or CoreSharing()
        least = max(self._least, sharing.least)
        if fraction < least - EPSILON:
            return f"at a fraction of {fraction:g}, which is below the least, {least:g}"
        host, running = self._host(job), self._state.running
        cores = fraction * (running[host].size if host in running else self._sizes[host])
        if sharing.whole_cores and not whole(cores):
            return f"at a fraction of {fraction:g}, which is {cores:g} cores; here whole ones are needed"
        self._quotas[job] = fraction
        return self._too_much(host, fraction)

    def _too_much(self, host: int, fraction: float) -> str | None:
        running = self._state.running
        guests = [*(running[host].guests if host in running else ()), *self._guests.get(host, ())]
        total = sum(self._of(each) for each in (host, *guests)) if guests else fraction
        if total <= 1 + EPSILON:
            return None
        return f"at a fraction of {fraction:g}, where those of job {host} and its guests sum to {total:g}"

    def _host(self, job: int) -> int:
        """Return the job whose cores this one runs on: its own, unless it is a guest."""
        running = self._state.running
        host = running[job].host if job in running else self._hosts.get(job)
        return job if host is None else host

    def _of(self, job: int) -> float:
        running = self._state.running
        return self._quotas[job] if job in self._quotas else running[job].quota
