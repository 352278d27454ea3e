"""The HTTP of one connection: authorization, routing, and answers as JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from minicluster.broker_link.errors import InstanceGone, Refused, reason
from minicluster.broker_link.link import Accepted
from minicluster.lead_server import proofs
from minicluster.lead_server.connections import MAX_UPGRADED
from minicluster.lead_server.errors import BadRequest, OperationFailed, Unproven
from minicluster.lead_server.http_input import MAX_HEAD_BYTES, HeadReader, read_body
from minicluster.lead_server.routes import AggregatedRequest, Audience, Pieces, Text, Upgrade

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from socketserver import BaseServer
    from typing import Any

    from minicluster.broker_link.link import JSON
    from minicluster.lead_server.aggregation import Aggregation
    from minicluster.lead_server.connections import Connection
    from minicluster.lead_server.files import ServerCredentials
    from minicluster.lead_server.routes import AggregatedHandler, RouteAnswer, Routes

_T = TypeVar("_T")


class RouteTable(NamedTuple):
    """Everything that is served."""

    routes: Routes
    audiences: Mapping[str, str]
    """The audience of each path that is not for the operator alone."""
    proxied: Mapping[str, AggregatedHandler]
    """By the first word of a path: handlers for requests of the API server's front proxy, and no others."""


class Handler(BaseHTTPRequestHandler):
    """Serves the requests of one connection, one after another."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.1"  # what cannot be parsed would be HTTP/0.9, which gets no answer
    wbufsize = -1  # an answer leaves in one piece

    def __init__(
        self,
        connection: Connection,
        client_address: Any,
        server: BaseServer,
        credentials: ServerCredentials,
        table: RouteTable,
    ) -> None:
        self.client_connection = connection
        self._credentials = credentials
        self._table = table
        super().__init__(connection.socket, client_address, server)

    def setup(self) -> None:
        """Limit the bytes that are read before a body."""
        super().setup()
        self.rfile: Any = HeadReader(self.rfile)

    def version_string(self) -> str:
        """Return the `Server` header's value, without Python's version."""
        return "minicluster-door"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Do not log requests: the operator sends many, and those of other clients matter to no reader."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Send a status code without http.server's message: the client has not shown a token yet."""
        self._reject(code)

    def handle_one_request(self) -> None:
        """Serve one request of any method."""
        self.rfile.left = MAX_HEAD_BYTES
        self.close_connection, self._begun = True, False
        self.command, self.requestline, self.request_version = "", "", "HTTP/1.1"
        try:
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline or not self.parse_request():
                return
            self._url = _address(self.path)
        except BadRequest as error:
            self._reject(error.code)
            return
        passed = self._table.proxied.get(self._url.path.strip("/").partition("/")[0])
        believed = proofs.aggregation(self.client_connection.socket)
        try:
            if passed is not None and believed is not None:
                self._pass_on(passed, believed)
            else:
                self._serve()
        except OperationFailed as error:
            self.close_connection = True
            if not self._begun:
                with suppress(OSError):
                    self._reject(500) if self.client_connection.unproven_since else self._fail(500, error)
            raise  # the server logs it

    def _pass_on(self, passed: AggregatedHandler, believed: Aggregation) -> None:
        """Answer a request that the API server passes on, if the connection's settings still hold."""
        self._credentials.refresh()
        if believed != self._credentials.aggregation:
            self._reject(401)  # the settings have changed since the connection began
            return
        try:
            who = believed.proxy.identity(
                proofs.certificate(self.client_connection.socket), self.headers.items()
            )
        except Unproven:
            self._reject(401)
            return
        self.client_connection.prove(is_reader=False)
        try:
            read_body(self.headers, self.rfile, self.client_connection)
        except BadRequest as error:
            self._fail(error.code, error)
            return
        accept, query = self.headers.get("Accept", ""), dict(parse_qsl(self._url.query))
        request = AggregatedRequest(self.command, self._url.path, query, accept, who, believed.may_read(who))
        answer = _operated(lambda: passed(request))
        self.write_body(answer.code, answer.body.encode(), answer.kind)

    def _serve(self) -> None:
        """Answer a request, if the client may ask for this path."""
        shown = proofs.shown(self.headers, self._credentials, self.client_connection.socket)
        if any(shown):
            self.client_connection.prove(is_reader=not shown.whole and shown.purposes <= {Audience.METRICS})
        audience = self._table.audiences.get(self._url.path, Audience.DOOR)
        refusal = proofs.refusal(audience, shown)
        if refusal:
            self._reject(refusal, proofs.words(audience, shown))
            return
        try:
            self.purposes, answer = shown.purposes, self._answer()
        except BadRequest as error:
            self._fail(error.code, error)
        except (Refused, InstanceGone) as error:
            self._fail(502 if isinstance(error, Refused) else 503, reason(error))
        else:
            _reply(self, answer)

    def _answer(self) -> RouteAnswer:
        body = read_body(self.headers, self.rfile, self.client_connection)
        methods = self._table.routes.get(self._url.path)
        if methods is None:
            raise BadRequest("there is nothing at this path", 404)
        operation = methods.get(self.command)
        if operation is None:
            self._allowed = ", ".join(methods)
            raise BadRequest(f"only {self._allowed} is right here", 405)
        if self.request_version != "HTTP/1.1":
            raise BadRequest("HTTP/1.1 is right", 505)
        return _operated(lambda: operation(dict(parse_qsl(self._url.query)), body))

    def _fail(self, code: int, error: Exception | str) -> None:
        self.close_connection = self.close_connection or self.client_connection.unread
        headers = {"Allow": self._allowed} if code == 405 else {}
        self.send_json(code, {"error": str(error)}, headers)

    def _reject(self, code: int, error: str = "") -> None:
        """Send a status code, and words only to a client who has shown a token."""
        self.close_connection = True
        self.client_connection.unread = True
        answer = {"error": error} if error else None
        self.send_json(code, answer, {"WWW-Authenticate": "Bearer"} if code == 401 else {})

    def send_json(self, code: int, answer: JSON | None, headers: Mapping[str, str] | None = None) -> None:
        """Send an answer as JSON, or without a body."""
        body = b"" if answer is None else json.dumps(answer).encode() + b"\n"
        self.write_body(code, body, "application/json", headers)

    def write_body(self, code: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        """Send an answer whose body is of this kind."""
        self._begin(code, {"Content-Length": str(len(body)), **(headers or {})}, kind)
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def stream_body(self, answer: Iterator[_T], kind: str, text: Callable[[_T], str]) -> None:
        """Send each part of the body in a chunk of its own."""
        self.close_connection = True
        self._begin(200, {"Transfer-Encoding": "chunked"}, kind)
        parts = _made(answer)
        try:
            for each in parts:
                piece = text(each).encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
        finally:
            parts.close()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _begin(self, code: int, headers: Mapping[str, str], kind: str) -> None:
        self._begun = True
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _address(text: str) -> SplitResult:
    """Return the parts of a request's path. Raises BadRequest."""
    try:
        return urlsplit(text)
    except ValueError as error:
        raise BadRequest("the path is none") from error


def _operated(operation: Callable[[], _T]) -> _T:
    """Call an operation. Raises OperationFailed for an error that it does not raise on purpose."""
    try:
        return operation()
    except (BadRequest, Refused, InstanceGone):
        raise
    except Exception as error:
        raise OperationFailed(error) from error


def _reply(handler: Handler, answer: RouteAnswer) -> None:
    """Send what an operation returned."""
    if isinstance(answer, dict):
        handler.send_json(200, answer)
    elif isinstance(answer, Accepted):
        handler.send_json(202, {})
    elif isinstance(answer, Text):
        handler.write_body(answer.code, answer.body.encode(), answer.kind)
    elif isinstance(answer, Upgrade):
        _upgrade(handler, answer)
    elif isinstance(answer, Pieces):
        handler.stream_body(answer.pieces, answer.kind, str)
    else:
        handler.stream_body(answer, "application/x-ndjson", _line)


def _upgrade(handler: Handler, answer: Upgrade) -> None:
    """Change the protocol, and serve that until the connection ends."""
    handler.close_connection = True
    upgrade, connection = (_words(handler.headers.get_all(each)) for each in ("Upgrade", "Connection"))
    if answer.protocol not in upgrade or "upgrade" not in connection:
        error = f"Connection: Upgrade and Upgrade: {answer.protocol} are right here"
        handler.send_json(426, {"error": error}, {"Upgrade": answer.protocol})
    elif not handler.client_connection.upgrade():
        limit = f"{MAX_UPGRADED} connections of this kind are open, which is the limit"
        handler.send_json(503, {"error": limit}, {"Retry-After": "5"})
    else:
        handler.send_response(101)
        handler.send_header("Upgrade", answer.protocol)
        handler.send_header("Connection", "Upgrade")
        handler.end_headers()
        handler.wfile.flush()
        sock = handler.client_connection.socket
        sock.setblocking(False)
        answer.serve(sock, handler.rfile.unread(), handler.purposes)


def _words(values: list[str] | None) -> set[str]:
    """Return the words of a header's lists, in lower case."""
    return {word.strip().lower() for each in values or () for word in each.split(",")}


def _line(item: JSON) -> str:
    return json.dumps(item) + "\n"


def _made(answer: Iterator[_T]) -> Generator[_T, None, None]:
    """Yield what an operation makes, and close its iterator. Raises OperationFailed for an error there."""
    try:
        yield from answer
    except Exception as error:
        raise OperationFailed(error) from error
