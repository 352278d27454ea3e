"""Finds the job of a request in its instance, by the mark: after a crash nobody else knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from restful.clusters import instance_calls
from restful.jobs import seal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from restful.jobs.seal import Seal
    from restful.store.request_keys import RequestRow


class Marked(NamedTuple):
    """A job that bears a mark."""

    job: Job
    mark: seal.Mark


def marked(instance: Instance, jobs: Sequence[Job]) -> list[Marked]:
    """Return those jobs that bear a mark and are no restarts."""
    attributes = instance_calls.attributes(instance, [job.id for job in jobs])
    found: list[Marked] = []
    for job in jobs:
        own = attributes.get(job.id, {})
        mark = seal.read(own)
        if mark is not None and seal.restart_of(own) is None:
            found.append(Marked(job, mark))
    return found


def of_rows(
    instance: Instance, sealing: Seal, rows: Iterable[RequestRow], known: Collection[int]
) -> dict[str, Job]:
    """Return the first proven job of each request, by the request's id.

    Those submitted since the requests are looked at first. But the clock of a service may have been far from
    the instance's. So where a job is missing, all others are looked at as well, but for those that the
    projection has: it has found their owners. `known` are its jobs.
    """
    wanted = {row.id: row for row in rows}
    if not wanted:
        return {}
    recent = instance_calls.submitted_since(instance, min(row.created for row in wanted.values()))
    found = _proven(instance, sealing, wanted, recent)
    if len(found) < len(wanted):
        examined = {*known, *(job.id for job in recent)}
        others = [job for job in instance_calls.submitted_since(instance, 0.0) if job.id not in examined]
        found = {**_proven(instance, sealing, wanted, others), **found}
    return found


def _proven(
    instance: Instance, sealing: Seal, wanted: Mapping[str, RequestRow], jobs: Sequence[Job]
) -> dict[str, Job]:
    found: dict[str, Job] = {}
    for job, mark in marked(instance, jobs):
        row = wanted.get(mark.row)
        if row is None or row.id in found:
            continue
        request = seal.SealedRequest(row.instance, row.user, row.id)
        if sealing.proves(mark, instance_calls.jobspec(instance, job.id), request):
            found[row.id] = job
    return found
