"""Logs each defect of the policy once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class DefectLog:
    """Counts defects, and logs each that differs from the one before."""

    def __init__(self, error: Callable[[str], None]) -> None:
        self.count = 0
        self._error = error
        self._last_kind = ""

    def report(self, defect: str) -> None:
        """Note a decision's defect; an empty text is none."""
        kind = defect.partition("; at ")[0]
        if defect:
            self.count += 1
        if defect and kind != self._last_kind:
            self._error(f"{defect}; jobs wait, and the policy is asked again when something changes")
        self._last_kind = kind
