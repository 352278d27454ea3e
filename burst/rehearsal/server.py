"""A server on loopback that answers as a cloud's interface does: routes, answers, and lost connections."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class CloudRequest:
    """A request, read."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    """By name, in lower case."""
    body: bytes
    parts: tuple[str, ...] = ()
    """What the groups of its route have matched."""

    def json(self) -> Any:
        """Return its body, read as JSON; an empty one is an empty object."""
        return json.loads(self.body or b"{}")

    def value(self, name: str, otherwise: str = "") -> str:
        """Return a value of the query."""
        return next(iter(self.query.get(name, ())), otherwise)


@dataclass(frozen=True, slots=True)
class CloudAnswer:
    """An answer; without a status the connection ends instead."""

    status: int | None = 200
    body: Any = None
    """Written as JSON; bytes as they are."""
    headers: Mapping[str, str] = field(default_factory=dict)


NO_ANSWER = CloudAnswer(None)


class CloudRoute(NamedTuple):
    """Which requests a function answers."""

    method: str
    pattern: str
    """A regular expression of the whole path."""
    answer: Callable[[CloudRequest], CloudAnswer]


class CloudServer:
    """Answers requests in threads, until it is left; one at a time, as the cloud's state is not locked."""

    def __init__(self, routes: Sequence[CloudRoute], unknown: Callable[[CloudRequest], CloudAnswer]) -> None:
        """`unknown` answers what no route matches."""
        self._routes = [(each.method, re.compile(each.pattern), each.answer) for each in routes]
        self._unknown = unknown
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((LOOPBACK, 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: CloudRequest) -> CloudAnswer:
        """Return what a request gets."""
        with self._lock:
            for method, pattern, answer in self._routes:
                found = pattern.fullmatch(request.path)
                if found is not None and method == request.method:
                    parts = tuple(each or "" for each in found.groups())
                    return answer(
                        CloudRequest(
                            request.method, request.path, request.query, request.headers, request.body, parts
                        )
                    )
            return self._unknown(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement

            def _serve(self) -> None:
                address = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                request = CloudRequest(
                    self.command,
                    address.path,
                    parse_qs(address.query, keep_blank_values=True),
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(length),
                )
                self._write(outer.answer(request))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - the names of http.server

            def _write(self, answer: CloudAnswer) -> None:
                if answer.status is None:
                    self.close_connection = True
                    return
                given = answer.body
                body = (
                    given
                    if isinstance(given, bytes)
                    else json.dumps(given if given is not None else {}).encode()
                )
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words: object) -> None:
                """Log nothing: the cloud has its calls."""

        return Handler


class ServedCloud:
    """A cloud that is served until it is left."""

    def __init__(self, server: CloudServer) -> None:
        self.server = server

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.__exit__(kind, error, trace)
