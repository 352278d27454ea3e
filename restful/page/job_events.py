"""A job's events (RFC 18, 21) in words for people. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minicluster.instance.records import Event

TITLES = {
    "submit": "Submitted",
    "validate": "Accepted",
    "dependency-add": "Has to wait",
    "dependency-remove": "Has to wait no more",
    "depend": "Waits for no other job",
    "priority": "Has a priority",
    "urgency": "Urgency changed",
    "alloc": "Got its nodes",
    "prolog-start": "Nodes are being prepared",
    "prolog-finish": "Nodes are prepared",
    "start": "Started",
    "finish": "Tasks ended",
    "release": "Gave nodes back",
    "free": "Gave all nodes back",
    "epilog-start": "Nodes are being cleaned",
    "epilog-finish": "Nodes are cleaned",
    "exception": "Exception",
    "clean": "Ended",
    "memo": "Note",
    "jobspec-update": "Jobspec changed",
    "resource-update": "Resources changed",
    "flux-restart": "The instance was started again",
}
"""By the names of events; another one is shown by its name."""
QUIET = frozenset({"annotations", "set-flags", "validate", "debug.alloc-request", "debug.free-request"})
"""Events that mean nothing to people."""
MAX_DETAIL = 300
"""Characters of what else an event has."""
_HIDDEN = frozenset({"userid", "version", "flags", "annotations"})


class ShownEvent(NamedTuple):
    """One event."""

    at: float
    name: str
    """As Flux calls it."""
    title: str
    detail: str


def shown(events: list[Event]) -> list[ShownEvent]:
    """Return the events that mean something to people, in their order."""
    return [
        ShownEvent(each.timestamp, each.name, TITLES.get(each.name, each.name), _detail(each))
        for each in events
        if each.name not in QUIET
    ]


def _detail(event: Event) -> str:
    context = event.context
    match event.name:
        case "finish":
            return _status(context.get("status"))
        case "exception":
            text = f"{context.get('type', '')}: {context.get('note', '')}".strip(": ")
        case _:
            rest = {key: each for key, each in context.items() if key not in _HIDDEN}
            text = ", ".join(f"{key}: {_value(each)}" for key, each in rest.items())
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}…"


def _status(status: object) -> str:
    """Return a wait status (waitpid(2)) in words."""
    if not isinstance(status, int):
        return ""
    signal, code = status & 0x7F, status >> 8
    return f"ended by signal {signal}" if signal else f"exit code {code}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
