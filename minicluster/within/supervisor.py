"""Scaling by the supervisor of a cluster on this machine (see `minicluster.local.control`)."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

from minicluster.within.errors import NotInsideError, RefusedError, UnreachableError

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 30.0


def scale(control: Path, size: int) -> None:
    """Ask for so many brokers, and return once the supervisor has begun. Raises WithinError."""
    if not control.exists():
        raise NotInsideError(
            "this cluster has no supervisor that could change its size: begun with `minicluster run` it keeps"
            " it, with `minicluster up` it can grow and shrink"
        )
    order = {"order": "scale", "size": size, "wait": False}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SECONDS)
            connection.connect(str(control))
            connection.sendall(json.dumps(order).encode() + b"\n")
            with connection.makefile("rb") as answers:
                line = answers.readline()
    except OSError as error:
        raise UnreachableError(f"the cluster's supervisor does not answer: {error}") from error
    answer = json.loads(line or b"{}")
    if "error" in answer:
        raise RefusedError(answer["error"])
    if "done" not in answer:
        raise UnreachableError("the cluster's supervisor ended before it answered")
