"""A client of an upgraded connection, which reads when it is asked to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from tests.lead.client import DEADLINE

if TYPE_CHECKING:
    import ssl

    from tests.lead.client import Client

UPGRADE = {"Connection": "Upgrade", "Upgrade": "minicluster-lines"}


def head(token: str, fields: dict[str, str]) -> bytes:
    """A request for the upgrade."""
    given = {**fields, **({"Authorization": f"Bearer {token}"} if token else {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"POST /v1/instance HTTP/1.1\r\nHost: lead\r\n{lines}\r\n".encode()


class LinesClient:
    """Connects, and asks for the upgrade; `answer` is the head of the answer."""

    def __init__(self, lead_api: Client, token: str, early: bytes = b"") -> None:
        self.socket: ssl.SSLSocket = lead_api.connection()
        self.socket.settimeout(DEADLINE)
        self._file = self.socket.makefile("rb")
        self.socket.sendall(head(token, UPGRADE) + early)
        found = []
        while (line := self._file.readline()).strip():
            found.append(line)
        self.answer = b"".join(found).decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.socket.close()

    def send(self, *requests: dict[str, Any]) -> None:
        """Send requests."""
        self.socket.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in requests))

    def line(self) -> dict[str, Any] | None:
        """The next line with anything in it; None at the end."""
        while text := self._file.readline():
            found: dict[str, Any] = json.loads(text)
            if found:
                return found
        return None

    def ask(self, number: int, topic: str, **payload: Any) -> dict[str, Any] | None:
        """Send a request, and return the next line."""
        self.send({"id": number, "topic": topic, "payload": payload})
        return self.line()
