"""The errors of the client, as one tree.

ClientError                 root
├── WrongServer             the address is none that a token may be sent to
├── NotLoggedIn             there is no token for the server, or the login has ended
├── LoginFailed             the server, or the user at the page, denied a login (RFC 6749, RFC 8628)
├── ServerAway              nothing answers, or not in time; it was tried again as long as that was allowed
├── BadAnswer               what answers is no service of this kind
├── JobTimeout              the time given passed first
├── JobFailure              a job ended otherwise than well; `record` has it (in `job_errors`)
│   └── JobCanceled
└── ServiceRefused          the service refused a request (RFC 9457): `status`, `type`, `detail`, `errors`
    ├── Invalid             400, 413, 422: the request is not right
    ├── Unauthenticated     401: the token is not good
    ├── Forbidden           403: the token, or its user, may not do that
    │   └── QuotaExceeded
    ├── NotFound            404: there is no such thing, or it is another user's
    ├── Conflict            409: that does not fit what is there
    │   └── JobEnded
    ├── OutputGone          410: the output went with its instance
    ├── TooManyRequests     429, after further attempts
    └── ServiceFailed       500 and above, after further attempts where one can help
"""

# ruff: noqa: N818 - errors are named for the state that they report

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_QUOTED = 2000
"""Characters of a service's message that are quoted."""
MAX_ERRORS = 50
"""Fields of a refusal that are listed."""


class ClientError(Exception):
    """Root of the tree."""


class WrongServer(ClientError):
    """The address is none that a token may be sent to."""


class NotLoggedIn(ClientError):
    """There is no token for the server, or the login has ended."""


class LoginFailed(ClientError):
    """A login was denied. `error` is OAuth's word for it."""

    def __init__(self, message: str, error: str = "") -> None:
        self.error = error
        super().__init__(message)


class ServerAway(ClientError):
    """Nothing answers at the address, or not in time."""


class BadAnswer(ClientError):
    """What answers is no service of this kind."""


class JobTimeout(ClientError):
    """The time given passed first."""


@dataclass(frozen=True, slots=True)
class WrongField:
    """What is wrong with one field of a request."""

    path: str
    """A JSON pointer into the body (RFC 6901), or the parameter's name."""
    message: str


class ServiceRefused(ClientError):
    """The service refused a request."""

    def __init__(self, status: int, type: str, detail: str, errors: tuple[WrongField, ...] = ()) -> None:  # noqa: A002 - RFC 9457's name
        self.status = status
        self.type = type
        """The last word of the problem's type, such as "quota"; empty where it has none."""
        self.detail = detail
        self.errors = errors
        super().__init__("\n".join([detail, *self._fields()]))

    def _fields(self) -> list[str]:
        """Return a line a field; none where the sentence before is about the only one."""
        if len(self.errors) == 1 and self.errors[0].message in self.detail:
            return []
        return [f"  {each.path.lstrip('/')}: {each.message}" for each in self.errors]


class Invalid(ServiceRefused):
    """The request is not right."""


class Unauthenticated(ServiceRefused):
    """The token is not good."""


class Forbidden(ServiceRefused):
    """The token, or its user, may not do that."""


class QuotaExceeded(Forbidden):
    """A quota would be exceeded."""


class NotFound(ServiceRefused):
    """There is no such thing, or it is another user's."""


class Conflict(ServiceRefused):
    """That does not fit what is there."""


class JobEnded(Conflict):
    """The job has ended: nothing can be done to it any more."""


class OutputGone(ServiceRefused):
    """The output went with its instance."""


class TooManyRequests(ServiceRefused):
    """More requests than the limit."""


class ServiceFailed(ServiceRefused):
    """The service, or the instance behind it, failed or cannot be reached."""


_BY_TYPE = {"quota": QuotaExceeded, "ended": JobEnded, "output-gone": OutputGone}
_BY_STATUS = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    422: Invalid,
    429: TooManyRequests,
    431: Invalid,
}


def refusal(status: int, body: Any) -> ServiceRefused:
    """Return the error for an answer whose status is 400 or above; `body` is its JSON, or None without any.

    OAuth's routes have words of their own (RFC 6749, 5.2). Answers of other servers on the way, such as
    proxies, have no problem: their status is in the message.
    """
    found: Mapping[str, Any] = body if isinstance(body, dict) else {}
    word = _text(found.get("type")).rpartition("/")[2] or _text(found.get("error"))
    words = map(_text, map(found.get, ("detail", "title", "error_description")))
    detail = next(filter(None, words), f"the server answers with {status}")
    listed = found.get("errors")
    fields = (
        tuple(_field(each) for each in listed[:MAX_ERRORS] if isinstance(each, dict))
        if isinstance(listed, list)
        else ()
    )
    usual = _BY_STATUS.get(status, ServiceFailed if status >= 500 else ServiceRefused)
    return _BY_TYPE.get(word, usual)(status, word, detail, fields)


def _field(found: Mapping[str, Any]) -> WrongField:
    return WrongField(_text(found.get("path")), _text(found.get("message")))


def _text(value: Any) -> str:
    return value[:MAX_QUOTED] if isinstance(value, str) else ""
