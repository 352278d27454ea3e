"""What tasks of jobs write when they begin and end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class JobLine(NamedTuple):
    """What a task wrote when it began, or ended."""

    name: str
    task: int
    what: str
    at: str
    """Its broker's socket."""
    time: float


@dataclass
class TaskLines:
    """A folder with the file of JobLines."""

    folder: Path

    @property
    def lines_file(self) -> Path:
        return self.folder / "lines"

    def lines(self) -> list[JobLine]:
        """Return what tasks have written."""
        if not self.lines_file.exists():
            return []
        split = [line.split() for line in self.lines_file.read_text().splitlines()]
        return [JobLine(one, int(task), what, at, float(time)) for one, task, what, at, time in split]

    def ended(self, *names: str) -> bool:
        """Return whether a task of each of these jobs has ended."""
        return {each.name for each in self.lines() if each.what == "end"} >= set(names)

    def begun(self, *names: str) -> bool:
        """Return whether a task of each of these jobs has begun."""
        return {each.name for each in self.lines()} >= set(names)

    def once(self, nodes: Mapping[str, int]) -> str:
        """Return what is wrong if not each task began once, and ended once, on one broker; empty: nothing."""
        expected = {
            (name, task, what): 1
            for name, count in nodes.items()
            for task in range(count)
            for what in ("begin", "end")
        }
        found = Counter((each.name, each.task, each.what) for each in self.lines())
        if found != expected:
            return f"{dict(found - Counter(expected))} too often, {dict(Counter(expected) - found)} missing"
        return ""
