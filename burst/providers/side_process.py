"""What processes have in common that look after one burst each, beside the service: a lock, and a log."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def takes(lock: Path) -> bool:
    """Return whether this process has the burst's lock, up to its own end: there is no other one."""
    try:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # there is one, or the burst is gone
    return True


def log(text: str) -> None:
    """Write a line to the process's log."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)
