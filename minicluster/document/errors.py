"""What can be wrong with a document.

    SpecError
    └── DocumentError      everything wrong with the documents read, each `Problem` with its place

A `DocumentError` lists every problem at once. No message quotes a certificate or the value of a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where it is, what was found there, what is allowed, and a way out.

    `path` is the place in the document (`spec.containers[0].command`), empty for the document as a whole.
    `line` and `column` count from 1; 0 means that the document did not come from a text.
    `message` is the whole sentence, and made of the other fields.
    """

    path: str
    message: str
    line: int = 0
    column: int = 0
    found: str = ""
    allowed: str = ""
    hint: str = ""
    source: str = ""

    def __str__(self) -> str:
        location = self.source
        if self.line:
            location = f"{location}:{self.line}" if location else f"line {self.line}"
        return ": ".join(part for part in (location, self.path, self.message) if part)


class SpecError(ValueError):
    """Something is wrong with what was asked of this package."""


class DocumentError(SpecError):
    """One or more documents are not valid; `problems` holds each mistake, in the order of the text."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
