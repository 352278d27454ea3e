"""Refusals as /v1 has them: `{"Message": …}`, and `Errors` where several fields are wrong. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.errors import HttpProblem

INVALID = "Invalid submit request"
NO_COMMAND = "A 'command' is minimally required."
DENIED = "Denied"
STOP = "A service of many users is not stopped by one of them: cancel your jobs, or ask who runs it."
LAUNCHER = (
    "is_launcher is not offered: a workflow manager would run beside the service, and not in the cluster. "
    "Submit its command as a job, which may submit others."
)


@dataclass(slots=True)
class CompatRefusal(Exception):  # noqa: N818 - it is an answer
    """A request that gets no answer but this."""

    status: int
    """HTTP's status code."""
    message: str
    errors: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Members of the answer besides."""

    def body(self) -> dict[str, Any]:
        """Return the answer's members."""
        found: dict[str, Any] = {"Message": self.message, **self.fields}
        if self.errors:
            found["Errors"] = list(self.errors)
        return found


def of_problem(problem: HttpProblem) -> CompatRefusal:
    """Return a problem of the services as /v1 has it; fields that are wrong are a bad request there."""
    body = problem.body("")
    status = 400 if problem.type == "invalid" else problem.status
    errors = tuple(f"{_name(each.path)}{each.message}" for each in problem.errors)
    return CompatRefusal(status, str(body["detail"]), errors)


def _name(path: str) -> str:
    """Return a field's name before a message; a field of the jobspec is called as in a submission."""
    name = path.lstrip("/")
    return f"{name}: " if name else ""
