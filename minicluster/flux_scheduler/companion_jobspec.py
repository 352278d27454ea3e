"""Companion jobs: one more worker of a malleable job each, by a jobspec of their own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats.jobspec import user_of
from minicluster.malleable.variables import ORDER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.formats.resource_set import R
    from minicluster.malleable.credentials import Credentials

_WITHOUT = ("dependencies", "constraints")  # for finding resources: a companion has its slot already
_OPTIONS_WITHOUT = ("input", "output")  # two jobs would write one file


class Companion(NamedTuple):
    """What identifies a companion."""

    of: str
    """The F58 id of its base job."""
    task: int
    """The number that its task has in the base job."""


def companion_of(jobspec: Any) -> Companion | None:
    """Return the base job and task in a companion's jobspec; None for other jobs."""
    user = user_of(jobspec)
    of, task = user.get("companion_of"), user.get("task")
    return Companion(of, task) if isinstance(of, str) and type(task) is int else None


def companion(base: Mapping[str, Any], whose: Companion, order: int) -> dict[str, Any]:
    """Return the jobspec of one more worker of a job: its command, on one of its slots or nodes.

    It has no time limit, as it ends with its base job. Its output is separate.
    """
    made: dict[str, Any] = copy.deepcopy(dict(base))
    made["resources"][0]["count"] = 1
    attributes = made["attributes"]
    user = {key: value for key, value in attributes.get("user", {}).items() if key != "elastic"}
    attributes["user"] = {**user, "companion_of": whose.of, "task": whose.task}
    system = {key: value for key, value in attributes["system"].items() if key not in _WITHOUT}
    attributes["system"] = system
    system["duration"] = 0
    system["environment"] = {**system.get("environment", {}), ORDER_VARIABLE: str(order)}
    options = system.setdefault("shell", {}).setdefault("options", {})
    for name in _OPTIONS_WITHOUT:
        options.pop(name, None)
    return made


def with_credentials(resources: R, credentials: Credentials) -> R:
    """Return R with credentials. The job's shells give the tasks a file with them, see malleable.lua."""
    return {**resources, "attributes": {"user": {"malleable": credentials.text()}}}
