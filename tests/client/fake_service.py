"""A service on loopback as the client sees it, with faults: an answer that is late, refused, or lost.

A fault is taken by the next request whose line it matches. `lost` does the work, and cuts the connection in
place of the answer.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Answer = tuple[int, Any]
LOST: Answer = (0, None)
"""Cut the connection, once the work is done."""


@dataclass
class Request:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body or b"null")

    @property
    def form(self) -> dict[str, str]:
        """The body as a form."""
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass
class Service:
    """What it has, and what came."""

    url: str = ""
    routes: dict[tuple[str, str], Callable[[Request], Answer]] = field(default_factory=dict)
    """By method and path. An answer is a status and what becomes JSON, or bytes of events."""
    faults: list[tuple[str, Answer, dict[str, str]]] = field(default_factory=list)
    """The beginning of a request line, what is answered in place, and headers."""
    other: Callable[[Request], Answer] | None = None
    """Answers where there is no route."""
    requests: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault(self, line: str, answer: Answer, **headers: str) -> None:
        """Let the next request of this line have this answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append((line, answer, named))

    def lines(self) -> list[str]:
        """Return the lines of the requests that came."""
        return [f"{each.method} {each.path}" for each in self.requests]

    def answer(self, request: Request) -> tuple[Answer, dict[str, str]]:
        """Return what is answered, and headers."""
        line = f"{request.method} {request.path}"
        with self.lock:
            self.requests.append(request)
            found = next((each for each in self.faults if line.startswith(each[0])), None)
            if found is not None:
                self.faults.remove(found)
                if found[1] is LOST:
                    self._work(request)
                return found[1], found[2]
            return self._work(request), {}

    def _work(self, request: Request) -> Answer:
        route = self.routes.get((request.method, request.path), self.other)
        return (404, problem("not-found", "there is no such thing here")) if route is None else route(request)


def problem(kind: str, detail: str, **more: Any) -> dict[str, Any]:
    """Return the body of a refusal (RFC 9457)."""
    return {"type": f"/problems/{kind}", "title": kind, "detail": detail, **more}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet an answer: two would wait for each other
    server: _Server  # type: ignore[assignment]

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, unquote(parts.path), parse_qs(parts.query), headers, body)
        answer, extra = self.server.service.answer(request)
        if answer is LOST:
            self.close_connection = True
            return
        status, content = answer
        events = isinstance(content, bytes)
        sent = content if events else b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        kind = "text/event-stream" if events else "application/json"
        for name, value in {"Content-Type": kind, **extra}.items():
            self.send_header(name, value)
        if events:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - names of http.server
        """Write nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service: Service) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service = service


@contextlib.contextmanager
def running(service: Service | None = None) -> Iterator[Service]:
    """Yield a service that answers at its `url`."""
    found = service or Service()
    server = _Server(found)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
