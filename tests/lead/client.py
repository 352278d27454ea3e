"""A client of the lead API, as strict as the operator: authority and server name must be right."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tests.devcluster import waiting
from tests.lead.keys import NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 60.0


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for the condition's first true value, and return it."""
    return waiting.until(condition, what, DEADLINE)


class _Connection(http.client.HTTPConnection):
    def __init__(self, client: Client) -> None:
        super().__init__(NAME)
        self._client = client

    def connect(self) -> None:
        self.sock = self._client.connection()


@dataclass
class Client:
    """Sends requests to the lead API at `port` of this machine."""

    port: int
    authority: str
    token: str
    name: str = NAME

    def connection(self) -> ssl.SSLSocket:
        """A TLS connection."""
        context = ssl.create_default_context(cadata=self.authority)
        plain = socket.create_connection(("127.0.0.1", self.port), DEADLINE)
        try:
            return context.wrap_socket(plain, server_hostname=self.name)
        except BaseException:
            plain.close()
            raise

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """The status code and the answer."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        with closing(_Connection(self)) as connection:
            connection.request(method, path, data, self.bearer if headers is None else headers)
            response = connection.getresponse()
            text = response.read()
        return response.status, json.loads(text) if text else None

    @property
    def bearer(self) -> dict[str, str]:
        """The header that shows the token."""
        return {"Authorization": f"Bearer {self.token}"}

    def keep(self) -> http.client.HTTPConnection:
        """A connection for many requests."""
        return _Connection(self)

    def status(self) -> dict[str, Any]:
        """Return the status, once the lead server listens and the broker answers."""
        return dict(until(self._status, "a status"))

    def _status(self) -> dict[str, Any] | None:
        try:
            code, answer = self.ask("GET", "/v1/status")
        except ConnectionError:
            return None
        return answer if code == 200 else None

    def watch(self) -> Watch:
        """The stream of statuses."""
        self.status()
        return Watch(self)


class Watch:
    """One watch: `last` is the newest status."""

    def __init__(self, client: Client) -> None:
        self._connection = client.keep()
        self._connection.request("GET", "/v1/status?watch=true", headers=client.bearer)
        self._response = self._connection.getresponse()
        self.last: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while line := self._response.readline():
            self.last = json.loads(line)
            yield self.last

    def until(self, **wanted: object) -> dict[str, Any]:
        """Read on until a status has these values."""
        for status in self:
            if all(status[key] == value for key, value in wanted.items()):
                return status
        raise AssertionError(f"the stream ended before {wanted}; last was {self.last}")
