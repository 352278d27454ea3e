"""`attributes.user` of many jobs, which listings do not have."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import user_of
from minicluster.broker_link.errors import RequestRefused

if TYPE_CHECKING:
    from minicluster.instance.links.shared import SharedLinks

JSON = Mapping[str, Any]

TOPIC = "minicluster-jobs.attributes"
"""Ours: of the helper on real Flux, else of the embedded broker. Those of release 0.1.0 do not have it."""
_AT_ONCE = 250
"""Jobs of one request."""
_NOT_THERE = {errno.ENOENT, errno.EPERM}
"""Refusals of a job that is not known, or not to be seen by who asks."""


def of(links: SharedLinks, jobids: Iterable[int]) -> dict[int, JSON]:
    """Return those of the jobs that are known, by their ids."""
    found: dict[int, JSON] = {}
    left = iter(jobids)
    while ids := list(islice(left, _AT_ONCE)):
        found.update(_of_some(links, ids))
    return found


def _of_some(links: SharedLinks, ids: list[int]) -> Iterator[tuple[int, JSON]]:
    try:
        answer = links.rpc(TOPIC, {"ids": ids})
    except RequestRefused as refusal:
        if refusal.errnum not in {errno.ENOSYS, errno.EMSGSIZE}:
            raise
        return _one_by_one(links, ids)
    return ((job["id"], job["user"]) for job in answer["jobs"])


def _one_by_one(links: SharedLinks, ids: list[int]) -> Iterator[tuple[int, JSON]]:
    for jobid in ids:
        with _known():
            answer = links.rpc("job-info.lookup", {"id": jobid, "keys": ["jobspec"], "flags": 0})
            yield jobid, user_of(json.loads(answer["jobspec"]))


@contextlib.contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except RequestRefused as refusal:
        if refusal.errnum not in _NOT_THERE:
            raise
