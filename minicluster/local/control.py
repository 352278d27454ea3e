"""Orders to a cluster's supervisor: one JSON line there, JSON lines back.

    → {"order": "scale", "size": 2}        with "wait": false it is only begun
    ← {"notice": "draining ranks 2-3"}     any number
    ← {"done": {…}} or {"error": "…", "exit_code": 2}

Only the owner has access: the socket is in a directory of mode 0700, and the peer's uid is checked.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import TYPE_CHECKING, Any

from minicluster.local.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.local.state_directory import ClusterDirectory

Message = dict[str, Any]
MAX_ORDER_BYTES = 1 << 16
"""Bytes of a line that asks the supervisor for something."""


def peer_is_owner(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to this user (SO_PEERCRED, unix(7))."""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.geteuid())


def order(cluster: ClusterDirectory, message: Message, notice: Callable[[str], None]) -> Message:
    """Give an order and return its result; `notice` receives its progress. Raises SupervisorError."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(cluster.control))
        except OSError as error:
            raise SupervisorError(f"the cluster's supervisor does not answer ({error.strerror})") from error
        connection.sendall(json.dumps(message).encode() + b"\n")
        with connection.makefile("rb") as answers:
            return _result(answers, notice)


def _result(answers: Any, notice: Callable[[str], None]) -> Message:
    for line in answers:
        answer: Message = json.loads(line)
        if "notice" in answer:
            notice(answer["notice"])
        elif "error" in answer:
            raise SupervisorRefused(answer["error"], answer.get("exit_code", 125))
        else:
            done: Message = answer["done"]
            return done
    raise SupervisorError("the cluster's supervisor ended before it was done")


class SupervisorRefused(SupervisorError):  # noqa: N818 - as in errors.py
    """The supervisor refused an order; the message is its own."""

    def __init__(self, text: str, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(text)
