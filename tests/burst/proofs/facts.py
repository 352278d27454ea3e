"""Facts of a proof, each with its figures: tests assert all of them, programs print them."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field


@dataclass
class Facts:
    """What was seen, and whether it is as it should be."""

    name: str
    figures: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def figure(self, text: str) -> None:
        """Add a line of figures."""
        self.figures.append(text)

    def holds(self, fact: bool, words: str) -> None:
        """Note a fact that has to hold."""
        if not fact:
            self.broken.append(words)

    def equal(self, found: object, expected: object, words: str) -> None:
        """Note that two things have to be the same."""
        self.holds(found == expected, f"{words}: {found!r}, not {expected!r}")

    def end(self) -> None:
        """Print the figures, one a line, and all of it in one line as JSON; end the process."""
        seconds = round(time.monotonic() - self.began)
        print(f"{'FAIL' if self.broken else 'ok  '} {self.name}, {seconds} s")
        for each in self.figures:
            print(f"     {each}")
        for each in self.broken:
            print(f"     BROKEN: {each}")
        print(
            json.dumps(
                {"proof": self.name, "seconds": seconds, "figures": self.figures, "broken": self.broken}
            )
        )
        sys.exit(1 if self.broken else 0)
