"""The errors of this package.

    SpecError
    ├── DocumentError      all problems of the documents that were read, each with its path and position
    ├── UnknownField       the document has no field at a path
    └── UnwritableCommand  no document can be made from a command line

A `DocumentError` lists every problem at once. No message quotes a certificate or the value of a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats.printable import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

BEYOND_PYTHON = (RecursionError, OverflowError, ValueError, MemoryError)
"""What Python raises where a text asks for more depth, digits or memory than there are."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, what was found there, what is allowed, and a way out."""

    path: str
    """The path in the document (`spec.containers[0].command`), empty for the document as a whole."""
    message: str
    """The whole sentence, made of the other fields."""
    line: int = 0
    """Counts from 1; 0: the document did not come from a text."""
    column: int = 0
    """Counts from 1, as the line."""
    found: str = ""
    allowed: str = ""
    hint: str = ""
    source: str = ""
    """The file's name."""

    def __post_init__(self) -> None:
        """Escape what a document's author could move a reader's cursor with; API servers write lines."""
        for name in ("path", "message", "found", "allowed", "hint"):
            object.__setattr__(self, name, printable_lines(getattr(self, name)))

    def __str__(self) -> str:
        location = printable(self.source)
        if self.line:
            location = f"{location}:{self.line}" if location else f"line {self.line}"
        return ": ".join(part for part in (location, self.path, self.message) if part)


def described(error: Exception) -> str:
    """Return the kind and the words of an error in BEYOND_PYTHON, for a message."""
    words = str(error)[:200]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class SpecError(ValueError):
    """The base of this package's errors."""


class UnknownField(SpecError):  # noqa: N818 - named for the state that it reports
    """The document has no field at a path."""


class UnwritableCommand(SpecError):  # noqa: N818 - named for the state that it reports
    """No document can be made from a command line."""


class DocumentError(SpecError):
    """One or more documents are not valid; `problems` has each mistake, in the order of the text."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
