"""A stream of the broker's answers for a client in lines, in bounded memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from minicluster.broker_link.line_stream import StreamCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.errors import RequestRefused
    from minicluster.broker_link.link import JSON, LeadLink

EVENTLOG = "job-info.eventlog-watch"
"""The one topic whose streams can be asked for anew, and then begin at the same entry."""
MAX_BYTES = 1 << 20
"""What may wait for the client. With more the watch of an eventlog is cancelled, and later asked for anew."""
ITEM_BYTES = 1 << 14
"""Entries of an eventlog that wait become one item, up to this."""


class ServedStream:
    """One request, whose client has credit; `over` is called once the client has its end.

    All methods but the constructor are for the thread of the link. It raises TypeError and ValueError.

    An item of an eventlog is one entry, or several that waited. With `after` in the payload entries up to
    that one are left out here where the engine is real Flux, which cannot do so, and each item has the number
    of its first.
    """

    def __init__(self, request: JSON, answer: Callable[[JSON], None], over: Callable[[], None]) -> None:
        self._topic: str = request["topic"]
        self._payload: JSON = request.get("payload") or {}
        self._user: int | None = request.get("user")
        self._call = StreamCall(request, answer)
        self._over = over
        self._first = int(self._payload.get("after", -1)) + 1 if self._topic == EVENTLOG else 0
        self._numbered = False
        self._taken = 0
        self._skip = 0
        self._waiting = 0  # bytes, at most
        self._number: int | None = None

    @property
    def has_room(self) -> bool:
        """Whether its client can take an item."""
        return self._call.has_room

    @property
    def ended(self) -> bool:
        """Whether its client has the end."""
        return self._call.ended

    def begin(self, link: LeadLink) -> None:
        """Ask the broker, and leave out what the client has had. Raises RequestRefused, InstanceGone."""
        if self._first and link.engine == "flux":
            self._numbered, self._taken, self._first = True, self._first, 0
        self._skip = self._taken
        take = functools.partial(self._take, link)
        self._number = link.stream(self._topic, self._payload, take, self._user)

    def _take(self, link: LeadLink, answer: JSON | None, refusal: RequestRefused | None) -> None:
        if refusal is not None:
            self.stop(refusal.errnum, refusal.text)
        elif self._skip:
            self._skip -= 1
        elif answer is not None:
            self._item(link, {**answer, "entry": self._taken} if self._numbered else answer)

    def _item(self, link: LeadLink, item: JSON) -> None:
        self._taken += 1
        if self._topic != EVENTLOG:
            self._call.item(item)
            return
        event = item.get("event") or ""
        self._waiting += len(event)
        if not (event and self._call.append(event, ITEM_BYTES)):
            self._call.item(item)
        if not self._call.buffered:
            self._waiting = 0
        if self._waiting >= MAX_BYTES and self._number is not None:
            link.cancel(self._number)
            self._number = None

    def stop(self, errnum: int, text: str) -> None:
        """End it for this reason."""
        self._number = None
        self._call.stop(errnum, text)
        self._finish()

    def credit(self, link: LeadLink, more: int) -> None:
        """Allow `more` further items. Raises RequestRefused, InstanceGone."""
        self._call.credit(more)
        if self._call.buffered:
            return
        self._waiting = 0
        if self._number is None and not self._call.is_stopped:
            self.begin(link)
        self._finish()

    def cancel(self, link: LeadLink) -> None:
        """End it; its client receives ENODATA at once. Raises InstanceGone."""
        number, self._number = self._number, None
        self._call.cancel()
        self._finish()
        if number is not None:
            link.cancel(number)

    def _finish(self) -> None:
        if self._call.ended:
            self._over()
