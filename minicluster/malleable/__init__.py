"""Programs that change their size while they run, and what an instance needs to order a resize.

For programs: `Program` (task 0 answers orders by hooks), `Team` (its own channels between its tasks).
For instances: `session.Session` and `exchange.Exchange`, state machines without I/O. It imports the standard
library alone, as it runs in users' programs and in Flux's own Python. docs/malleable.md has the protocol.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.malleable.errors import MalleableError, Refusal, Rejected, TeamError
    from minicluster.malleable.frames import Frame
    from minicluster.malleable.hooks import Hooks
    from minicluster.malleable.messages import Grow, Member, Shrink
    from minicluster.malleable.program import Program
    from minicluster.malleable.team import GONE, Team
    from minicluster.malleable.worker import Worker

__all__ = [
    "GONE",
    "Frame",
    "Grow",
    "Hooks",
    "MalleableError",
    "Member",
    "Program",
    "Refusal",
    "Rejected",
    "Shrink",
    "Team",
    "TeamError",
    "Worker",
]
_HOMES = {
    "errors": ("MalleableError", "Refusal", "Rejected", "TeamError"),
    "frames": ("Frame",),
    "hooks": ("Hooks",),
    "messages": ("Grow", "Member", "Shrink"),
    "program": ("Program",),
    "team": ("GONE", "Team"),
    "worker": ("Worker",),
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: an instance needs nothing of the programs' part."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
