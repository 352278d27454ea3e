"""The functions of planning that an administrator may replace, as the bursting paper has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from burst.planning.ordering import by_priority
from burst.planning.records import BurstableJob, BurstSelection
from burst.planning.selection import by_document

JobSelector = Callable[[BurstableJob, BurstSelection, float], str]
"""Returns why a job that could burst does not do so now, at this time; empty if it does."""
JobRank = Callable[[BurstableJob], float]
"""Returns a number by which jobs are planned: the smallest first, equal ones by priority."""


class PlanHooks(NamedTuple):
    """Which jobs burst, and in which order. Both are pure."""

    selector: JobSelector = by_document
    rank: JobRank = by_priority
