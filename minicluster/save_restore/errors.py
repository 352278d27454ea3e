"""The errors of saving, as one tree.

SavingError
├── JobRefused      the instance does not accept a copy of a job; has its message
├── DumpUnusable    a dump cannot be written, is not whole, or is not for this engine; names the file
└── NotAnswering    the broker does not answer (any more)
"""

from __future__ import annotations


class SavingError(Exception):
    """Root of the tree."""


class JobRefused(SavingError):  # noqa: N818 - named for what happened
    """The instance does not accept a copy of a job."""


class DumpUnusable(SavingError):  # noqa: N818 - named for the state it reports
    """A dump cannot be written, is not whole, or is not for this engine."""


class NotAnswering(SavingError):  # noqa: N818 - named for what happened
    """The broker does not answer (any more)."""
