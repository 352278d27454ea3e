"""Routes of the tests' own behind the HTTPS server, and bytes that are sent to it."""

from __future__ import annotations

import contextlib
import ssl
import threading
from typing import TYPE_CHECKING, Any, ClassVar

from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.routes import Audience, Pieces, Text
from tests.lead.client import DEADLINE, Client

if TYPE_CHECKING:
    from collections.abc import Iterator


FAILURES = {
    "refused": Refused(22, "no"),
    "gone": InstanceGone("away"),
    "bad": BadRequest("what?"),
    "os": FileNotFoundError(2, "No such file or directory", "/notes"),
    "defect": ZeroDivisionError("a defect"),
}


class Served:
    """What the routes of this test answer, and what they were asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.more = threading.Event()
        self.log: list[str] = []

    def echo(self, query: Any, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        return {"query": dict(query), "body": body}

    def lines(self, _query: Any, _body: Any) -> Iterator[dict[str, int]]:
        for number in range(3):
            yield {"number": number}
            assert self.more.wait(DEADLINE)

    def fail(self, query: Any, _body: Any) -> dict[str, Any]:
        raise FAILURES[query["how"]]

    def breaks(self, _query: Any, _body: Any) -> Iterator[dict[str, int]]:
        yield {"number": 0}
        raise FAILURES["os"]

    def routes(self) -> dict[str, Any]:
        return {
            "/echo": {"GET": self.echo, "POST": self.echo},
            "/lines": {"GET": self.lines},
            "/updates": {"GET": self.lines},
            "/fail": {"GET": self.fail},
            "/broken": {"GET": lambda _query, _body: self.fail({"how": "os"}, {})},
            "/breaks": {"GET": self.breaks},
            "/text": {"GET": lambda _query, _body: Text("plain\n", "text/plain", 503)},
            "/pieces": {
                "GET": lambda _query, _body: Pieces(iter(["data: 1\n\n", "data: 2\n\n"]), "text/event-stream")
            },
            "/health": {"GET": lambda _query, _body: Text("ok\n", "text/plain")},
        }

    audiences: ClassVar = {
        "/text": Audience.METRICS,
        "/updates": Audience.METRICS,
        "/broken": Audience.ALL,
        "/pieces": Audience.METRICS,
        "/health": Audience.ALL,
    }


def talk(client: Client, data: bytes) -> bytes:
    """Send bytes over TLS; what comes back until the server hangs up."""
    answer = b""
    with client.connection() as sock:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            sock.sendall(data)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while part := sock.recv(1 << 16):
                answer += part
    return answer
