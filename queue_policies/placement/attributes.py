"""What a jobspec's `attributes.user` tells of a job's tasks, for the placement:

    flux submit -n 16 --setattr=user.profile=memory --setattr=user.workers=4 …

`profile` is `cpu`, `memory`, `network` or `io`. Where more is known, it is a table of `kind`, and of what
one core demands: `bandwidth` (of memory), `network` and `io`, each in one unit for all jobs. `workers` is the
number of workers into which the tasks are divided; more than there are tasks count as one for each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from queue_policies.errors import TaskAttributeError
from queue_policies.placement.records import Profile, ProfileKind, TaskShape

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROFILE, _WORKERS = "attributes.user.profile", "attributes.user.workers"
_KINDS = tuple(kind.value for kind in ProfileKind)
_DEMANDS = ("bandwidth", "network", "io")
_KEYS = ("kind", *_DEMANDS)


def shape_of(user: Mapping[str, Any], tasks: int, slots: int) -> TaskShape | None:
    """Return what `attributes.user` tells of this many tasks on this many slots; None: nothing.

    0 tasks: their number is not known before the job has its resources. Raises TaskAttributeError.
    """
    profile, workers = user.get("profile"), user.get("workers")
    if profile is None and workers is None:
        return None
    found = 0 if workers is None else _workers(workers)
    return TaskShape(
        profile=None if profile is None else _profile(profile),
        tasks=0 if tasks == slots else tasks,
        workers=min(found, tasks) if tasks else found,
    )


def valid_shape_of(user: Mapping[str, Any], tasks: int, slots: int) -> TaskShape | None:
    """Return the same of a job that an instance has admitted: what is invalid there tells nothing."""
    try:
        return shape_of(user, tasks, slots)
    except TaskAttributeError:
        return None


def _profile(value: Any) -> Profile:
    if not isinstance(value, dict):
        return Profile(_kind(_PROFILE, value))
    for key in value:
        if key not in _KEYS:
            raise TaskAttributeError(f"{_PROFILE}: unknown key {key!r}{_nearest(key, _KEYS)}")
    if "kind" not in value:
        raise TaskAttributeError(f"{_PROFILE}.kind is missing{_nearest('', _KINDS)}")
    demands = {key: _demand(key, value[key]) for key in _DEMANDS if key in value}
    return Profile(_kind(f"{_PROFILE}.kind", value["kind"]), **demands)


def _kind(name: str, value: Any) -> ProfileKind:
    if isinstance(value, str) and value in _KINDS:
        return ProfileKind(value)
    raise TaskAttributeError(f"{name}: {value!r} is no profile{_nearest(value, _KINDS)}")


def _demand(key: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value < math.inf:
        raise TaskAttributeError(f"{_PROFILE}.{key} must be a number >= 0, not {value!r}")
    return float(value)


def _workers(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TaskAttributeError(f"{_WORKERS} must be an integer > 0, not {value!r}")
    return value


def _nearest(word: Any, known: tuple[str, ...]) -> str:
    import difflib  # noqa: PLC0415 - seldom needed

    near = difflib.get_close_matches(str(word), known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
