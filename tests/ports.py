"""Ports of this machine for the programs that tests start."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from tests.devcluster.control_plane import reserve

if TYPE_CHECKING:
    import socket

KEPT = 64  # more than the programs of one test

_kept: deque[socket.socket] = deque()


def free_port(address: str = "127.0.0.1") -> int:
    """Choose a port that no other test gets until a program listens there, with SO_REUSEADDR as servers do.

    One that is merely free can be another test's before the program has started.
    """
    if len(_kept) == KEPT:
        _kept.popleft().close()
    _kept.append(reserve(address))
    return int(_kept[-1].getsockname()[1])
