"""Jobspecs (RFC 25) of jobs that leave their MiniCluster: as they run elsewhere, what they bring back."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from broker_config.formats.burst_names import BURSTABLE
from broker_config.formats.jobspec import set_at, system_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTRIBUTE = ("minicluster", "burst")
"""Where in `attributes.user` a job elsewhere has the label of its burst."""
_HERE = ("queue", "constraints", "dependencies", BURSTABLE)
"""Attributes that are about the queues, hosts and jobs of the instance that it leaves."""
_OF_INSTANCES = ("FLUX_", "MINICLUSTER_", "PMI_", "PMIX_")
"""How variables begin that name the instance of who submitted the job."""


def elsewhere(jobspec: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return a job's jobspec for an instance that knows nothing of the one that it leaves.

    Where its output goes is for its stand-in to see to: elsewhere it is kept with the job.
    """
    found = copy.deepcopy(dict(jobspec))
    system = system_of(found)
    for name in _HERE:
        system.pop(name, None)
    options = system.get("shell", {}).get("options", {})
    options.pop("output", None)
    kept = system.get("environment") or {}
    system["environment"] = {
        name: value for name, value in kept.items() if not name.startswith(_OF_INSTANCES)
    }
    set_at(found, ("attributes", "user", *ATTRIBUTE), label)
    return found


def label_of(user: Mapping[str, Any]) -> str:
    """Return the label of the burst that a job elsewhere is of, by `attributes.user`; empty: of none."""
    ours = user.get(ATTRIBUTE[0])
    found = ours.get(ATTRIBUTE[1]) if isinstance(ours, dict) else None
    return found if isinstance(found, str) else ""


def results_of(user: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the paths of `attributes.user.burst.results`, relative to the job's working directory.

    Raises ValueError where they are no such paths.
    """
    burst = user.get("burst")
    found = burst.get("results") if isinstance(burst, dict) else None
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ValueError('attributes.user.burst.results: ["out.dat"] is right, a list of paths')
    for each in found:
        if each.startswith("/") or ".." in each.split("/"):
            raise ValueError(
                f"attributes.user.burst.results: {each} is not below the job's working directory"
            )
    return tuple(found)


def has_results(user: Mapping[str, Any]) -> bool:
    """Return whether a job names results, valid or not."""
    burst = user.get("burst")
    return isinstance(burst, dict) and burst.get("results") not in (None, [])
