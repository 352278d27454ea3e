"""Requests to the service: sent again where that can help, and answers turned into values or errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import requests
import urllib3

from minicluster.client import retries
from minicluster.client.addresses import server_of
from minicluster.client.credentials import GivenToken, TokenSource, login_command
from minicluster.client.errors import (
    BadAnswer,
    ClientError,
    ServerAway,
    ServiceRefused,
    Unauthenticated,
    refusal,
)
from minicluster.client.event_stream import EventStream
from minicluster.client.http_session import ServerSession, is_cut
from minicluster.client.records import member
from minicluster.client.timing import SYSTEM, Timing

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
"""Without a byte: a submit waits for the instance."""
_SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
"""Methods that have the same effect once or twice (RFC 9110, 9.2.2)."""
QueryParameters = Mapping[str, str | int | float | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Call:
    """A request."""

    method: str
    path: str
    query: QueryParameters = field(default_factory=dict)
    body: Any = None
    """As JSON; None: there is none."""
    form: Mapping[str, str] | None = field(default=None, repr=False)
    """As a form; it has passwords and tokens in it."""
    key: str = ""
    """Its Idempotency-Key: the service does it once, however often it is sent."""
    repeatable: bool = False
    """Whether it has the same effect twice, though its method does not promise that."""

    @property
    def idempotent(self) -> bool:
        """Whether it may be sent again where an answer was lost."""
        return self.method in _SAFE or bool(self.key) or self.repeatable


class ServiceConnection:
    """Sends requests to one server. Raises ServerAway, BadAnswer, and the errors below ServiceRefused."""

    def __init__(
        self,
        server: str,
        credentials: TokenSource | None = None,
        *,
        ca_file: str = "",
        retry: retries.RetryPolicy | None = None,
        timing: Timing = SYSTEM,
    ) -> None:
        self.server = server_of(server)
        self.timing = timing
        self.ca_file = ca_file
        self._credentials = credentials or GivenToken("")
        self._retry = retry or retries.RetryPolicy()
        self._session = ServerSession(self.server, self._credentials.token, ca_file)
        self._session.headers["User-Agent"] = "minicluster-client"

    def __repr__(self) -> str:
        return f"ServiceConnection({self.server!r})"

    def get(self, path: str, query: QueryParameters | None = None) -> Any:
        """Return what a path has, as JSON."""
        return self.call(Call("GET", path, query or {}))

    def call(self, call: Call) -> Any:
        """Return the answer's JSON; None where it has no content."""
        response = self._answer(call)
        if not response.content or not response.ok:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise BadAnswer(f"{self.server}{call.path} answers with no JSON: is this the service?") from error

    def results(self, call: Call) -> list[Any]:
        """Return what became of each thing that a request is about (207).

        It is sent again as long as that may help one of them: it has the same effect once or twice.
        """
        end, attempt = self.timing.monotonic() + self._retry.seconds, 0
        while True:
            attempt += 1
            found: list[Any] = member(self.call(call), "results")
            again = any(retries.may_repeat(member(each, "status"), "", idempotent=True) for each in found)
            delay = self._retry.delay(attempt, None, self.timing.chance())
            if not again or self.timing.monotonic() + delay > end:
                return found
            self.timing.sleep(delay)

    def lines(self, path: str, query: QueryParameters) -> list[Any]:
        """Return the JSON values of an answer's lines."""
        response = self._answer(Call("GET", path, query))
        try:
            return [json.loads(line) for line in response.content.splitlines() if line]
        except ValueError as error:
            raise BadAnswer(f"{self.server}{path} answers with lines that are no JSON") from error

    def events(self, path: str, query: QueryParameters, last: str, again: Callable[[], None]) -> EventStream:
        """Return a path's events behind one; `again` is called before each further connection."""
        prepared = requests.Request("GET", self.server + path, params=dict(query)).prepare()

        def sleep(seconds: float) -> None:
            again()
            self.timing.sleep(seconds)

        return EventStream(self._session, prepared.url or "", last_event_id=last, sleep=sleep)

    def renewed(self) -> bool:
        """Whether there is another token, after one was refused."""
        return self._credentials.renewed(self._credentials.token())

    def close(self) -> None:
        """Close the connections that are open."""
        self._session.close()

    def _answer(self, call: Call) -> requests.Response:
        """Return an answer of success, after as many attempts as the policy allows."""
        end = self.timing.monotonic() + self._retry.seconds
        attempt, may_renew = 0, True
        while True:
            attempt += 1
            try:
                response = self._send(call)
            except requests.RequestException as error:
                found: ClientError = _lost(self.server, error)
                asked = None
                again = _is_unsent(error) or (call.idempotent and _may_pass(error))
            else:
                if response.ok and not response.is_redirect:
                    return response
                if attempt > 1 and call.method == "DELETE" and response.status_code == 404:
                    return response  # an attempt before has deleted it
                if response.status_code == 401 and may_renew and self._renew(response):
                    may_renew = False
                    continue
                found = self._refusal(response)
                asked = retries.retry_after(response.headers.get("Retry-After"), self.timing.now())
                again = isinstance(found, ServiceRefused) and retries.may_repeat(
                    found.status, found.type, idempotent=call.idempotent
                )
            delay = self._retry.delay(attempt, asked, self.timing.chance())
            if not again or self.timing.monotonic() + delay > end:
                raise found
            self.timing.sleep(delay)

    def _send(self, call: Call) -> requests.Response:
        headers = {"Accept": "application/json, application/jsonl, application/problem+json"}
        if call.key:
            headers["Idempotency-Key"] = call.key
        response = self._session.request(
            call.method,
            self.server + call.path,
            params=dict(call.query),
            json=call.body,
            data=call.form,
            headers=headers,
            timeout=(CONNECT_SECONDS, READ_SECONDS),
        )
        if is_cut(response) and not response.content:
            raise requests.exceptions.ChunkedEncodingError("the answer ended within its head")
        return response

    def _renew(self, response: requests.Response) -> bool:
        sent = response.request.headers.get("Authorization", "").partition(" ")[2]
        return bool(sent) and self._credentials.renewed(sent)

    def _refusal(self, response: requests.Response) -> ServiceRefused | BadAnswer:
        if response.is_redirect:
            target = response.headers["Location"][:200]
            return BadAnswer(f"{self.server} sends to {target!r}: if that is right, give that address")
        try:
            body = response.json()
        except ValueError:
            body = None
        found = refusal(response.status_code, body)
        if isinstance(found, Unauthenticated):
            detail = f"{found.detail.rstrip('.')}: {login_command(self.server)}"
            return Unauthenticated(found.status, found.type, detail)
        return found


def _is_unsent(error: requests.RequestException) -> bool:
    """Whether no connection was had, so that the request cannot have been done, and one may be had later."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(reason, urllib3.exceptions.NameResolutionError):
        return False
    return isinstance(reason, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError)


def _may_pass(error: requests.RequestException) -> bool:
    """Whether another attempt can help: the connection was lost, or no answer came in time."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(error, requests.exceptions.SSLError) or isinstance(
        reason, urllib3.exceptions.NameResolutionError
    ):
        return False
    return isinstance(
        error, requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError
    )


def _lost(server: str, error: requests.RequestException) -> ServerAway:
    """Return what went wrong, in words."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    if isinstance(error, requests.exceptions.SSLError):
        words = "its certificate is not to be believed (--ca-file names who may vouch for it)"
        return ServerAway(f"{server}: {words}: {reason or error}")
    if isinstance(reason, urllib3.exceptions.NameResolutionError):
        return ServerAway(f"{server}: there is no host of that name")
    if isinstance(error, requests.Timeout):
        return ServerAway(f"{server} does not answer in time")
    if isinstance(reason, urllib3.exceptions.NewConnectionError):
        return ServerAway(f"{server} cannot be reached: {_words(reason)}")
    return ServerAway(f"the connection to {server} was lost: {_words(error)}")


def _words(error: Exception) -> str:
    """Return the system's own words for an error, which is wrapped several times."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return type(error).__name__
