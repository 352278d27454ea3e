"""The plug-in with the policies of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.easy import Easy
from queue_policies.fcfs import Fcfs
from queue_policies.plugins import hookimpl

if TYPE_CHECKING:
    from queue_policies.policy import Policy


@hookimpl
def minicluster_policies() -> list[type[Policy]]:
    """Return our own policies."""
    return [Fcfs, Easy]
