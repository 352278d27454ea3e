"""The common set-up of processes that serve a whole cluster: the operator and the metrics adapter."""

from __future__ import annotations

import gc
import os
import secrets
import socket
from asyncio.sslproto import SSLProtocol
from typing import TYPE_CHECKING

from minicluster.kube_client import logs, open_files

if TYPE_CHECKING:
    from minicluster.kube_client.logs import LogFormat, LogLevel

TLS_BUFFER = 32 * 1024
"""Bytes that each TLS connection has to read into. asyncio's 256 KiB are a MB for four idle connections."""


def prepare(log_format: LogFormat, log_level: LogLevel) -> None:
    """Set up this process to run for long: its log, its memory, its limit of open files."""
    logs.setup(log_format, log_level)
    gc.freeze()  # imported modules stay: they need not be traversed in each collection
    SSLProtocol.max_size = TLS_BUFFER
    open_files.allow_many()


def identity() -> str:
    """Return a unique name for this process; an earlier process in the same pod had another."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
