"""How two tasks begin a connection: the one that connects proves that it has the program's key."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from minicluster.malleable import frames
from minicluster.malleable.credentials import proof, proves
from minicluster.malleable.errors import TeamError
from minicluster.malleable.frames import Frame

if TYPE_CHECKING:
    import socket

BYE = "bye"
"""The kind of the last frame of a task that closes its team, or a connection."""
LIMIT = 4096
"""Bytes of a frame while it is not known who sends it."""


def introduce(connection: socket.socket, key: str, number: int, address: str) -> None:
    """Send the listening task this task's number and address. Raises OSError, TeamError."""
    nonce = frames.receive(connection, LIMIT).kind
    if nonce == BYE:
        raise TeamError("it has said goodbye")
    mac = proof(key, nonce, "team", number, address)
    frames.send(connection, Frame(number, mac, {"address": address}))


def meet(connection: socket.socket, key: str, number: int) -> tuple[int, str] | None:
    """Return number and address of the task that connected to task `number`; None without a proof.

    Raises OSError, TeamError.
    """
    nonce = secrets.token_hex(16)
    frames.send(connection, Frame(number, nonce))
    first = frames.receive(connection, LIMIT)
    address = str(first.fields.get("address"))
    if not proves(str(first.kind), key, nonce, "team", first.sender, address):
        return None
    return first.sender, address
