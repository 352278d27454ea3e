"""What a client may have done wrong, or this service cannot do now: one exception for all of them.

Its answer is `application/problem+json` (RFC 9457). `type` is one of the words in PROBLEMS, as a relative
reference under /problems/, where a page explains each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"

PROBLEMS: dict[str, tuple[int, str]] = {
    "invalid": (422, "A field of the request is not right"),
    "malformed": (400, "The request cannot be read"),
    "cursor": (400, "The cursor does not belong to this listing"),
    "unauthenticated": (401, "Log in, or send a token"),
    "forbidden": (403, "This token may not do that"),
    "quota": (403, "A quota would be exceeded"),
    "not-found": (404, "There is no such thing here"),
    "method": (405, "This method is not offered here"),
    "conflict": (409, "That does not fit what is there"),
    "ended": (409, "The job has ended"),
    "under-way": (409, "A request with the same key is under way"),
    "output-gone": (410, "The output went with its instance"),
    "not-kept": (410, "This is not offered any more"),
    "too-slow": (408, "The request did not arrive in time"),
    "too-large": (413, "The request is larger than the limit"),
    "head-too-large": (431, "The head of the request is larger than the limit"),
    "too-many-requests": (429, "More requests than the limit"),
    "internal": (500, "This service failed"),
    "instance-refused": (502, "The instance refused, for a reason that this service does not know"),
    "instance-away": (503, "The instance cannot be reached now"),
    "database-away": (503, "The database cannot be used now"),
    "busy": (503, "Too much is under way"),
}
"""The status code and the title of each type."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field of a request."""

    path: str
    """A JSON pointer into the body (RFC 6901), or the parameter's name."""
    message: str


@dataclass(slots=True)
class HttpProblem(Exception):  # noqa: N818 - RFC 9457's name for it
    """A request that gets no answer but this."""

    type: str
    """A key of PROBLEMS."""
    detail: str = ""
    """One sentence for people: what was wrong, and what would be right."""
    errors: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """HTTP's status code."""
        return PROBLEMS[self.type][0]

    def body(self, instance: str) -> dict[str, Any]:
        """Return the members of RFC 9457; `instance` is the path of the request."""
        status, title = PROBLEMS[self.type]
        found: dict[str, Any] = {
            "type": f"/problems/{self.type}",
            "title": title,
            "status": status,
            "detail": self.detail or title,
            "instance": instance,
        }
        if self.errors:
            found["errors"] = [{"path": each.path, "message": each.message} for each in self.errors]
        return found

    def __str__(self) -> str:
        return f"{self.type}: {self.detail}"
