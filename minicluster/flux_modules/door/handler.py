"""One connection's HTTP: limits, the token, the table of routes, and answers as JSON."""

from __future__ import annotations

import hmac
import json
import ssl
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from minicluster.flux_modules.door.aggregation import Proxied, ProxyContext
from minicluster.flux_modules.door.answers import Audience, Pieces, Text
from minicluster.flux_modules.door.errors import BadRequest, BrokerGone, DoorError, Refused, Unproven
from minicluster.flux_modules.door.link import Accepted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, BinaryIO

    from minicluster.flux_modules.door.aggregation import Aggregation, Passed
    from minicluster.flux_modules.door.connections import Connection
    from minicluster.flux_modules.door.link import JSON
    from minicluster.flux_modules.door.routes import Answer
    from minicluster.flux_modules.door.server import Server

LONGEST_HEAD = 16 << 10
"""Bytes of a request line and its headers together."""
LONGEST_BODY = 64 << 10


class Head:
    """A stream of bytes whose lines are counted: http.server alone would read megabytes of headers."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.left = LONGEST_HEAD

    def readline(self, _limit: int = -1) -> bytes:
        """Read a line. Raises BadRequest where the head is too long."""
        line = self._stream.readline(self.left + 1)
        self.left -= len(line)
        if self.left < 0:
            raise BadRequest(f"more than {LONGEST_HEAD} bytes before the body", 431)
        return line

    def read(self, size: int) -> bytes:
        """Read of a body, whose length was looked at."""
        return self._stream.read(size)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class Handler(BaseHTTPRequestHandler):
    """Serves the requests of one connection, one after another."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # else what cannot be parsed is answered as HTTP/0.9: by nothing
    wbufsize = -1  # an answer leaves in one piece
    server: Server

    def __init__(self, connection: Connection, client_address: Any, server: Server) -> None:
        self._connection = connection
        super().__init__(connection.socket, client_address, server)

    def setup(self) -> None:
        """Count what is read of heads."""
        super().setup()
        self.rfile: Any = Head(self.rfile)

    def version_string(self) -> str:
        """Say nothing of Python's version."""
        return "minicluster-door"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Say nothing of requests: the operator's are many, others' no news."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what http.server itself refuses; nobody has shown a token so far, so without its words."""
        self._reject(code)

    def handle_one_request(self) -> None:
        """Serve one request, whatever its method."""
        self.rfile.left = LONGEST_HEAD
        self.close_connection = True
        self.command, self.requestline, self.request_version = "", "", "HTTP/1.1"
        try:
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline or not self.parse_request():
                return
        except BadRequest as error:
            self._reject(error.code)
            return
        path = urlsplit(self.path).path
        passed, believed = self.server.proxied.get(path.strip("/").partition("/")[0]), self._believed()
        if passed is not None and believed is not None:
            self._pass_on(passed, believed)
            return
        audience = self.server.audiences.get(path, Audience.DOOR)
        whole, metrics = self._shown()
        metrics = metrics or self._is_certified()
        if whole or metrics:
            self._connection.stranger_since = None
        elif audience != Audience.ALL:
            self._reject(401)
            return
        if audience == Audience.DOOR and not whole:
            self._reject(403)
            return
        self._serve()

    def _shown(self) -> tuple[bool, bool]:
        """Tell whether the door's own token was shown, and whether that for metrics was."""
        given = self.headers.get_all("Authorization") or []
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        keys, shown = self.server.credentials, token.strip().encode("utf-8", "replace")
        # Compared whatever the scheme: how long it takes tells nothing.
        whole, metrics = (hmac.compare_digest(shown, each) for each in (keys.token, keys.metrics_token))
        bearer = scheme.lower() == "bearer"
        return bearer and whole, bearer and metrics and bool(keys.metrics_token)

    def _is_certified(self) -> bool:
        """Tell whether the client has shown a reader's certificate, which TLS has held against the authority.

        That of the front proxy, whom others are believed in, is none.
        """
        return self._believed() is None and bool(self._certificate())

    def _certificate(self) -> Mapping[str, Any] | None:
        connection = self._connection.socket
        return connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None

    def _believed(self) -> Aggregation | None:
        """Return what the connection was begun with, if that was by the name for the API server."""
        connection = self._connection.socket
        context = connection.context if isinstance(connection, ssl.SSLSocket) else None
        return context.aggregation if isinstance(context, ProxyContext) else None

    def _pass_on(self, passed: Passed, believed: Aggregation) -> None:
        """Have a request answered that the API server passes on, if it still is believed to be that."""
        self.server.credentials.refresh()
        if believed != self.server.credentials.aggregation:
            self._reject(401)  # others were believed when the connection began
            return
        try:
            who = believed.proxy.identity(self._certificate(), self.headers.items())
        except Unproven:
            self._reject(401)
            return
        self._connection.stranger_since = None
        try:
            self._body()
        except BadRequest as error:
            self._fail(error.code, error)
            return
        url, accept = urlsplit(self.path), self.headers.get("Accept", "")
        query = dict(parse_qsl(url.query))
        request = Proxied(self.command, url.path, query, accept, who, believed.may_read(who))
        answer = passed(request)
        self._write(answer.code, answer.body.encode(), answer.kind)

    def _serve(self) -> None:
        try:
            answer = self._answer()
        except BadRequest as error:
            self._fail(error.code, error)
        except Refused as error:
            self._fail(502, error)
        except BrokerGone as error:
            self._fail(503, error)
        else:
            if isinstance(answer, dict):
                self._send(200, answer)
            elif isinstance(answer, Accepted):
                self._send(202, {})
            elif isinstance(answer, Text):
                self._write(answer.code, answer.body.encode(), answer.kind)
            elif isinstance(answer, Pieces):
                self._stream(answer.pieces, answer.kind)
            else:
                self._stream(_lines(answer), "application/x-ndjson")

    def _answer(self) -> Answer:
        body = self._body()
        url = urlsplit(self.path)
        methods = self.server.routes.get(url.path)
        if methods is None:
            raise BadRequest("there is nothing at this path", 404)
        operation = methods.get(self.command)
        if operation is None:
            self._allowed = ", ".join(methods)
            raise BadRequest(f"only {self._allowed} is right here", 405)
        if self.request_version != "HTTP/1.1":
            raise BadRequest("HTTP/1.1 is right", 505)
        return operation(dict(parse_qsl(url.query)), body)

    def _body(self) -> JSON:
        """Read the body, an object in JSON; no body is an empty one."""
        length = self.headers.get("Content-Length", "0")
        self._connection.unread = True
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            raise BadRequest("a body needs its Content-Length", 411)
        size = int(length) if len(length) <= 10 else LONGEST_BODY + 1
        if size > LONGEST_BODY:
            raise BadRequest(f"the body may have {LONGEST_BODY} bytes", 413)
        data = self.rfile.read(size)
        self._connection.unread = False
        try:
            body = json.loads(data or b"{}")
        except (ValueError, RecursionError) as error:
            raise BadRequest("the body is no JSON") from error
        if not isinstance(body, dict):
            raise BadRequest("the body must be an object")
        return body

    def _fail(self, code: int, error: DoorError) -> None:
        self.close_connection = self.close_connection or self._connection.unread
        headers = {"Allow": self._allowed} if code == 405 else {}
        self._send(code, {"error": str(error)}, headers)

    def _reject(self, code: int) -> None:
        """Say nothing but a status code, to whoever has not shown the token."""
        self.close_connection = True
        self._connection.unread = True
        self._send(code, None, {"WWW-Authenticate": "Bearer"} if code == 401 else {})

    def _send(self, code: int, answer: JSON | None, headers: Mapping[str, str] | None = None) -> None:
        body = b"" if answer is None else json.dumps(answer).encode() + b"\n"
        self._write(code, body, "application/json", headers)

    def _write(self, code: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self._begin(code, {"Content-Length": str(len(body)), **(headers or {})}, kind)
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, pieces: Iterator[str], kind: str) -> None:
        """Send each piece, in a chunk of its own."""
        self.close_connection = True
        self._begin(200, {"Transfer-Encoding": "chunked"}, kind)
        try:
            for each in pieces:
                piece = each.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _begin(self, code: int, headers: Mapping[str, str], kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _lines(objects: Iterator[JSON]) -> Iterator[str]:
    """Return each object as a line."""
    try:
        for each in objects:
            yield json.dumps(each) + "\n"
    finally:
        close = getattr(objects, "close", None)
        if close is not None:
            close()
