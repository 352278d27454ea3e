"""Finds the job of a request in its instance, by the mark: after a crash nobody else knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from restful.clusters import instance_calls
from restful.jobs import seal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from restful.jobs.seal import Seal
    from restful.store.request_keys import RequestRow


class Marked(NamedTuple):
    """A job that bears a mark."""

    job: Job
    mark: seal.Mark


def marked(instance: Instance, since: float) -> list[Marked]:
    """Return the jobs submitted since a time that bear a mark and are no restarts, oldest first."""
    jobs = instance_calls.submitted_since(instance, since)
    attributes = instance_calls.attributes(instance, [job.id for job in jobs])
    found: list[Marked] = []
    for job in jobs:
        own = attributes.get(job.id, {})
        mark = seal.read(own)
        if mark is not None and seal.restart_of(own) is None:
            found.append(Marked(job, mark))
    return found


def of_rows(instance: Instance, sealing: Seal, rows: Iterable[RequestRow]) -> dict[str, Job]:
    """Return the first proven job of each request, by the request's id."""
    wanted = {row.id: row for row in rows}
    found: dict[str, Job] = {}
    if not wanted:
        return found
    for job, mark in marked(instance, min(row.created for row in wanted.values())):
        row = wanted.get(mark.row)
        if row is None or row.id in found:
            continue
        request = seal.SealedRequest(row.instance, row.user, row.id)
        if sealing.proves(mark, instance_calls.jobspec(instance, job.id), request):
            found[row.id] = job
    return found
