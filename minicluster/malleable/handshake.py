"""How two tasks of a program begin a connection: who connects proves that it has the program's key."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from minicluster.malleable import frames
from minicluster.malleable.credentials import proof, proves
from minicluster.malleable.frames import Frame

if TYPE_CHECKING:
    import socket

LIMIT = 4096
"""Bytes of a frame while it is not known who sends it."""


def introduce(connection: socket.socket, key: str, number: int, address: str) -> None:
    """Say to the listening task who this is, and where it listens itself. Raises OSError, TeamError."""
    nonce = frames.receive(connection, LIMIT).kind
    mac = proof(key, nonce, "team", number, address)
    frames.send(connection, Frame(number, mac, {"address": address}))


def meet(connection: socket.socket, key: str, number: int) -> tuple[int, str] | None:
    """Return who has connected to the task `number`, and where it listens; None for a stranger.

    Raises OSError, TeamError.
    """
    nonce = secrets.token_hex(16)
    frames.send(connection, Frame(number, nonce))
    first = frames.receive(connection, LIMIT)
    address = str(first.fields.get("address"))
    if not proves(str(first.kind), key, nonce, "team", first.sender, address):
        return None
    return first.sender, address
