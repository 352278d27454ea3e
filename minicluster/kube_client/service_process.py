"""What the processes have in common that serve a whole cluster: the operator and the metrics adapter."""

from __future__ import annotations

import gc
import os
import secrets
import socket
from typing import TYPE_CHECKING

from minicluster.kube_client import logs, open_files

if TYPE_CHECKING:
    from minicluster.kube_client.logs import LogFormat, LogLevel

GARBAGE = 10_000
"""Objects between two looks for garbage: a reconcile makes thousands, hardly one of them in a cycle."""


def prepare(log_format: LogFormat, log_level: LogLevel) -> None:
    """Make this process one that runs for long: how it logs, how often it looks for garbage, open files."""
    logs.setup(log_format, log_level)
    gc.freeze()  # what was imported stays: it need not be looked through again and again
    gc.set_threshold(GARBAGE)
    open_files.allow_many()


def identity() -> str:
    """Return what tells this process from every other, also from one in the same pod before it."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
