"""The memory that the C library keeps for itself."""

from __future__ import annotations

import contextlib
import ctypes

M_MMAP_THRESHOLD = -3
"""mallopt(3)."""
LARGE = 1 << 20
"""Bytes."""


def return_large_blocks() -> None:
    """Have glibc give large blocks back to the system as soon as they are free.

    Otherwise it keeps them once it has seen one come and go: with 500 logins at once the service had 60 MB
    more for good, though two passwords at a time are hashed in 19 MiB each. Other C libraries have no such
    setting.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)
