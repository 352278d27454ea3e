"""Loads the functions of planning that the settings name, by their entry points.

A plug-in may fail with anything: a job that its selector cannot judge is left out, with that as the reason,
and one that it cannot rank comes last. Nothing else is harmed.
"""

from __future__ import annotations

import logging
import math
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from burst.errors import SettingsInvalid
from burst.planning.hooks import PlanHooks
from burst.settings.records import DOCUMENT, PRIORITY
from minicluster.document.problems import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.planning.hooks import JobRank, JobSelector
    from burst.planning.records import BurstableJob, BurstSelection
    from burst.settings.file import SettingsFile

SELECTORS, RANKS = "minicluster.burst_selectors", "minicluster.burst_ranks"
_log = logging.getLogger(__name__)


def loaded(file: SettingsFile) -> PlanHooks:
    """Return the functions that a settings file names. Raises SettingsInvalid where one does not load."""
    names, hooks = file.settings, PlanHooks()
    if names.selector != DOCUMENT:
        found = _load(file, "selector", SELECTORS, DOCUMENT)
        hooks = hooks._replace(selector=_selector(names.selector, found))
    if names.rank != PRIORITY:
        hooks = hooks._replace(rank=_rank(names.rank, _load(file, "rank", RANKS, PRIORITY)))
    return hooks


def _load(file: SettingsFile, field: str, group: str, usual: str) -> Callable[..., Any]:
    """Return the function of an entry point. Raises SettingsInvalid."""
    name = getattr(file.settings, field)
    entries = {each.name: each for each in reversed(tuple(entry_points(group=group)))}
    if name not in entries:
        known = (usual, *sorted(entries))
        near = nearest(name, known)
        hint = f'did you mean "{near}"?' if near else f"known: {', '.join(known)}"
        raise SettingsInvalid([file.problem((field,), f'no {field} is called "{name}"; {hint}')])
    entry = entries[name]
    try:
        found = entry.load()
    except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
        problem = f"{entry.value} does not load: {type(error).__name__}: {error}"
        raise SettingsInvalid([file.problem((field,), problem)]) from None
    if not callable(found):
        raise SettingsInvalid([file.problem((field,), f"{entry.value} is no function: {found!r}")])
    function: Callable[..., Any] = found
    return function


def _selector(name: str, function: Callable[..., Any]) -> JobSelector:
    def selector(job: BurstableJob, selection: BurstSelection, now: float) -> str:
        try:
            reason = function(job, selection, now)
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            return f"selector {name} failed: {type(error).__name__}: {error}"
        if isinstance(reason, str):
            return reason
        return f"selector {name} returned {reason!r}, right would be a text"

    return selector


def _rank(name: str, function: Callable[..., Any]) -> JobRank:
    def rank(job: BurstableJob) -> float:
        try:
            found = float(function(job))
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            _log.warning("rank %s failed, the job comes last: %s: %s", name, type(error).__name__, error)
            return math.inf
        return math.inf if math.isnan(found) else found

    return rank
