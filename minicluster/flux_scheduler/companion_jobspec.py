"""Companion jobs: one more worker of a malleable job each, by a jobspec of their own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import set_at, system_of, user_of
from minicluster.malleable.variables import ORDER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.formats.jobspec import Companion
    from broker_config.formats.resource_set import R
    from minicluster.malleable.credentials import Credentials

_WITHOUT = ("dependencies", "constraints")  # for finding resources: a companion has its slot already
_OPTIONS_WITHOUT = ("input", "output")  # two jobs would write one file


def companion(base: Mapping[str, Any], whose: Companion, order: int) -> dict[str, Any]:
    """Return the jobspec of one more worker of a job: its command, on one of its slots or nodes.

    It has no time limit, as it ends with its base job. Its output is separate.
    """
    made: dict[str, Any] = copy.deepcopy(dict(base))
    made["resources"][0]["count"] = 1
    user = {key: value for key, value in user_of(base).items() if key != "elastic"}
    set_at(made, ("attributes", "user"), {**user, "companion_of": whose.of, "task": whose.task})
    system = system_of(made)
    for name in _WITHOUT:
        system.pop(name, None)
    system["duration"] = 0
    system["environment"] = {**system.get("environment", {}), ORDER_VARIABLE: str(order)}
    options = system.setdefault("shell", {}).setdefault("options", {})
    for name in _OPTIONS_WITHOUT:
        options.pop(name, None)
    return made


def with_credentials(resources: R, credentials: Credentials) -> R:
    """Return R with credentials. The job's shells give the tasks a file with them, see malleable.lua."""
    return {**resources, "attributes": {"user": {"malleable": credentials.text()}}}
