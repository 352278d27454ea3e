"""The least client of an API server that tests need: JSON over one connection that is kept.

Paths are the server's own (`/api/v1/namespaces/default/pods`), bodies are plain dicts.
"""

import http.client
import json
import select
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.devcluster.access import Access
from tests.devcluster.errors import ApiError

Object = dict[str, Any]
SECONDS = 120.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
BROKEN = (ConnectionError, http.client.HTTPException, OSError)


@dataclass
class Api:
    """A client for one user; threads take turns."""

    access: Access
    agent: str = "minicluster-tests"
    connection: http.client.HTTPConnection | None = field(default=None, init=False)
    turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def get(self, path: str, **query: str) -> Object:
        """Read an object, or list a collection."""
        return self.call("GET", with_query(path, query))

    def items(self, path: str, **query: str) -> list[Object]:
        """List a collection's objects."""
        return list(self.get(path, **query)["items"])

    def create(self, collection: str, body: Mapping[str, Any]) -> Object:
        """Create an object in its collection."""
        return self.call("POST", collection, body)

    def apply(self, path: str, body: Mapping[str, Any], manager: str = "harness") -> Object:
        """Server-side apply an object, taking over the fields it names."""
        query = {"fieldManager": manager, "force": "true"}
        return self.call("PATCH", with_query(path, query), body, APPLY)

    def merge(self, path: str, body: Mapping[str, Any]) -> Object:
        """Merge into an object, or, with /status at the path's end, into its status."""
        return self.call("PATCH", path, body, MERGE)

    def delete(self, path: str, **query: str) -> Object:
        """Delete an object; one that is not there is no error."""
        try:
            return self.call("DELETE", with_query(path, query))
        except ApiError as error:
            if error.status != 404:
                raise
            return {}

    def exists(self, path: str) -> bool:
        """Return whether an object, or a kind, is there."""
        return self.send("GET", path)[0] == 200

    def call(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Object:
        """Send a request and return the answer's object; raise ApiError for a refusal."""
        status, answer = self.send(method, path, body, content)
        try:
            found: Object = json.loads(answer)
        except ValueError:
            found = {"message": answer.decode(errors="replace")}
        if status >= 400:
            raise ApiError(status, found.get("reason", ""), found.get("message", ""))
        return found

    def send(
        self, method: str, path: str, body: Any = None, content: str = "application/json"
    ) -> tuple[int, bytes]:
        """Send a request and return status and bytes; a read that met a dead connection is sent again."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers(), "Content-Type": content}
        with self.turn:
            kept = self.connection is not None
            try:
                return self.exchange(method, path, data, headers)
            except BROKEN:
                self.hang_up()
                if not kept or method != "GET":
                    raise
                return self.exchange(method, path, data, headers)

    def headers(self) -> dict[str, str]:
        """Return what every request has."""
        headers = {"Accept": "application/json", "User-Agent": self.agent}
        if self.access.token is not None:
            headers["Authorization"] = f"Bearer {self.access.token}"
        return headers

    def exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Use the kept connection, or make it."""
        if self.connection is not None and is_closing(self.connection):
            self.hang_up()
        if self.connection is None:
            self.connection = self.dial()
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def dial(self) -> http.client.HTTPConnection:
        """Make the connection."""
        url = urlsplit(self.access.url)
        if url.scheme == "http":
            return http.client.HTTPConnection(url.netloc, timeout=SECONDS)
        return http.client.HTTPSConnection(url.netloc, timeout=SECONDS, context=self.access.tls())

    def hang_up(self) -> None:
        """Forget the connection; the next request makes another."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def is_closing(connection: http.client.HTTPConnection) -> bool:
    """Return whether an idle connection has something to read: the server hangs up after 90 s."""
    if connection.sock is None:
        return True
    poll = select.poll()  # `select` knows no descriptor above 1023
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def with_query(path: str, query: Mapping[str, str]) -> str:
    """Append a query, if there is any."""
    return f"{path}?{urlencode(query)}" if query else path
