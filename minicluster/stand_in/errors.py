"""The errors of stand-ins.

StandInError
├── SpoolError     a request about a spool is refused: Flux's error number, and a text
└── ResultsError   an archive of results is not written
"""

from __future__ import annotations

import os


class StandInError(Exception):
    """Root of the tree."""


class SpoolError(StandInError):
    """A request about a spool is refused: `errnum` as in errno.h, and the reason as a text."""

    def __init__(self, errnum: int, text: str = "") -> None:
        self.errnum = errnum
        self.text = text or os.strerror(errnum)
        super().__init__(self.text)


class ResultsError(StandInError):
    """Results are not what was announced, would be written elsewhere, or cannot be written."""
