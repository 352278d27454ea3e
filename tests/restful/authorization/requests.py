"""Requests to an application in this process, as quick as they can be: matrices have thousands."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp

HOST = "mc.example"
FORM = "application/x-www-form-urlencoded"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. At most one of `body`, `form` and `data` is given."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    form: Mapping[str, str] | Sequence[tuple[str, str]] | None = None
    data: bytes | None = None
    raw_headers: Sequence[tuple[bytes, bytes]] = ()
    """Further header fields, as they are."""
    address: str = "192.0.2.1"
    events: int = 1
    """How many events of a stream are read, behind the one that begins it."""


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(app: ASGIApp, sent: Sent, answer: Answer | None = None) -> Answer:
    """Send a request, and return its answer; of a stream of events, the first ones.

    With `answer`, that is filled as parts of it come, and a stream is read to its end.
    """
    whole, gone = answer is not None, asyncio.Event()
    answer = answer or Answer()
    data, media_type = _body(sent)
    messages = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> Mapping[str, Any]:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
            return
        answer.body += message.get("body", b"")
        if (
            not whole
            and answer.body.count(b"\n\n") > sent.events
            and answer.headers.get("content-type", "").startswith(EVENTS)
        ):
            gone.set()

    headers = {"host": HOST, **media_type, **{name.lower(): value for name, value in sent.headers.items()}}
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    if data and "transfer-encoding" not in headers:
        fields.append((b"content-length", str(len(data)).encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "https",
        "path": sent.path,
        "raw_path": sent.path.encode(),
        "query_string": urlencode(sent.query).encode(),
        "root_path": "",
        "headers": [*fields, *sent.raw_headers],
        "client": (sent.address, 40000),
        "server": (HOST, 443),
        "state": {},
    }
    await app(scope, receive, send)
    return answer


def _body(sent: Sent) -> tuple[bytes, dict[str, str]]:
    if sent.body is not None:
        return json.dumps(sent.body).encode(), {"content-type": "application/json"}
    if sent.form is not None:
        return urlencode(sent.form).encode(), {"content-type": FORM}
    return sent.data or b"", {}
