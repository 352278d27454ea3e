"""Calls and commits are counted, and at one of them something happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Meter:
    """Counts calls and commits, and has something happen at one of them."""

    kill: tuple[str, int] | None = None
    """`before`, `after` or `lost`, and at which of them."""
    names: list[str] = field(default_factory=list)

    def before(self, name: str) -> None:
        self.names.append(name)
        if self.kill == ("before", len(self.names)):
            self.kill = None
            raise Killed(name)

    def after(self, number: int, lost: Exception) -> None:
        if self.kill == ("after", number):
            self.kill = None
            raise Killed(self.names[number - 1])
        if self.kill == ("lost", number):
            self.kill = None
            raise lost

    def call(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def metered(*arguments: Any) -> Any:
            self.before(name)
            number = len(self.names)
            found = function(*arguments)
            self.after(number, ConnectionResetError("the answer was lost"))
            return found

        return metered
