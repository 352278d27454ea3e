"""The common set-up of processes that serve a whole cluster, and how they end."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import socket
from asyncio.sslproto import SSLProtocol
from typing import TYPE_CHECKING

from minicluster.kube_client import logs, open_files

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from minicluster.kube_client.logs import LogFormat, LogLevel

TLS_BUFFER = 32 * 1024
"""Bytes that each TLS connection has to read into. asyncio's 256 KiB are a MB for four idle connections."""


def prepare(log_format: LogFormat, log_level: LogLevel) -> None:
    """Set up this process to run for long: its log, its memory, its limit of open files."""
    logs.setup(log_format, log_level)
    gc.freeze()  # imported modules stay: they need not be traversed in each collection
    SSLProtocol.max_size = TLS_BUFFER
    open_files.allow_many()


def exit_code(
    name: str, work: Callable[[], object], log: logging.Logger, known: tuple[type[Exception], ...]
) -> int:
    """Do a process's work until SIGTERM or Ctrl-C; return its exit code: 0, or 1 after an error.

    The log has the reason: the message of a `known` error, or a traceback. `name` is what the process is.
    """
    signal.signal(signal.SIGTERM, _end)  # as a container's first process it would ignore it until it serves
    try:
        work()
    except known as error:
        log.error("the %s ends: %s", name, error)  # noqa: TRY400 - the reason is the message
        return 1
    except Exception:
        log.exception("the %s ends: a defect of it", name)
        return 1
    return 0


def _end(*_: object) -> None:
    raise SystemExit(0)


def identity() -> str:
    """Return a unique name for this process; an earlier process in the same pod had another."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
