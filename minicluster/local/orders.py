"""The user's orders to a cluster's supervisor."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from minicluster.local import control, state_directory, state_file
from minicluster.local.errors import SupervisorError

if TYPE_CHECKING:
    from minicluster.local.control import Message

Notice = Callable[[str], None]
END = 30.0
"""Seconds in which a cluster's processes end."""


def give(name: str, message: Message, notice: Notice) -> Message:
    """Give an order and wait until it is carried out. Raises NoSuchCluster, SupervisorError."""
    cluster, _ = state_file.need(name)
    return control.order(cluster, message, notice)


def down(name: str, dump: str, notice: Notice) -> str:
    """End a cluster and wait until nothing is left of it; return how many jobs ended with it, in words.

    Raises NoSuchCluster, SupervisorError.
    """
    cluster, state = state_file.need(name)
    answer = control.order(cluster, {"order": "down", "dump": dump}, notice)
    end = time.monotonic() + END
    while state_file.is_alive(state):
        if time.monotonic() > end:
            raise SupervisorError(
                f"cluster {name}: its supervisor (process {state.pid}) has not ended in {END:g} s"
            )
        time.sleep(0.02)
    if state_directory.find(name).path.exists():
        state_file.clean(cluster)
    return str(answer.get("canceled", ""))
