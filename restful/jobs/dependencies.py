"""Which jobs a job may wait for: those that its user may see, as the wait itself shows how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.errors import JobIdError
from broker_config.formats.jobid import parse
from broker_config.formats.jobspec import dependencies_of
from restful.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

ON_JOBS = ("after", "afterok", "afterany", "afternotok")
OTHERS = ("begin-time",)
"""Not among them: `singleton` and `string`, by which jobs of different users would wait for each other."""


class AwaitedJob(NamedTuple):
    """A job that is waited for."""

    path: str
    """Where it is in the jobspec, as a JSON pointer."""
    text: str
    id: int | None
    """None: the text is no id."""


def targets(jobspec: Mapping[str, Any]) -> tuple[list[AwaitedJob], list[FieldError]]:
    """Return the jobs that a job waits for, and what is wrong with its dependencies."""
    found: list[AwaitedJob] = []
    wrong: list[FieldError] = []
    for number, each in enumerate(dependencies_of(jobspec)):
        scheme, value = str(each.get("scheme")), str(each.get("value"))
        path = f"/attributes/system/dependencies/{number}"
        if scheme in ON_JOBS:
            found.append(AwaitedJob(path, value, _id(value)))
        elif scheme not in OTHERS:
            known = ", ".join((*ON_JOBS, *OTHERS))
            wrong.append(FieldError(path, f"{scheme[:40]!r} is not offered here; there are {known}"))
    return found, wrong


def _id(text: str) -> int | None:
    try:
        return parse(text)
    except JobIdError:
        return None


def missing(target: AwaitedJob) -> FieldError:
    """Return the answer to a dependency on a job that is not there, or somebody else's."""
    return FieldError(target.path, f"there is no job {target.text[:60]!r} here")
