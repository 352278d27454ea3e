"""What real Flux does not do by itself: attributes of many jobs, and a log without its first entries."""

from __future__ import annotations

import errno
import functools
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from minicluster.broker_link.errors import RequestRefused
    from minicluster.broker_link.link import JSON, Callback, LeadLink

ATTRIBUTES = "minicluster-jobs.attributes"
"""`attributes.user` of the jobs of `ids`, of those that are known and not others': {"jobs": [{id, user}]}."""
LOOKUP = "job-info.lookup"


def request(link: LeadLink, topic: str, payload: JSON, callback: Callback, user: int | None) -> None:
    """Ask for one answer. Raises RequestRefused, InstanceGone, and KeyError for what is malformed."""
    if link.engine == "flux" and topic == ATTRIBUTES:
        _Attributes(link, payload["ids"], callback, user)
    elif link.engine == "flux" and topic == LOOKUP and "after" in payload:
        behind = functools.partial(_behind, int(payload["after"]) + 1, callback)
        link.request(topic, payload, behind, user)
    else:
        link.request(topic, payload, callback, user)


def _behind(first: int, callback: Callback, answer: JSON | None, refusal: RequestRefused | None) -> None:
    """Pass on what is stored of a job, its eventlogs from an entry on."""
    from broker_config.formats import eventlog  # noqa: PLC0415 - of real Flux alone; relays start light

    if answer is not None and first:
        kept = {key: eventlog.behind(text, first) for key, text in answer.items() if isinstance(text, str)}
        answer = {**answer, **kept, "entry": first}
    callback(answer, refusal)


class _Attributes:
    """Looks up the jobspecs of some jobs, all at once, and answers when the last one is there."""

    def __init__(self, link: LeadLink, ids: list[int], callback: Callback, user: int | None) -> None:
        self._callback = callback
        self._left = len(ids)
        self._found: list[dict[str, Any]] = []
        self._error: RequestRefused | None = None
        for jobid in ids:
            wanted = {"id": jobid, "keys": ["jobspec"], "flags": 0}
            link.request(LOOKUP, wanted, functools.partial(self._take, jobid), user)
        self._end_if_complete()

    def _take(self, jobid: int, answer: JSON | None, refusal: RequestRefused | None) -> None:
        from broker_config.formats.jobspec import user_of  # noqa: PLC0415 - as above

        self._left -= 1
        if answer is not None:
            self._found.append({"id": jobid, "user": user_of(json.loads(answer["jobspec"]))})
        elif refusal is not None and refusal.errnum not in (errno.ENOENT, errno.EPERM):
            self._error = refusal
        self._end_if_complete()

    def _end_if_complete(self) -> None:
        if not self._left:
            self._callback(None if self._error else {"jobs": self._found}, self._error)
