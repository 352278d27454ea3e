"""Command lines and the order in which they are given. A pair (NAME, LINE) keeps what LINE prints as $NAME.

Lines run one after the other in `sh`, in a folder of the instance, with FLUX_URI set. What the two engines
may print in different order is sorted, and so is all that goes to standard error; `2>&1 | tail -1` leaves out
usage texts, which are each engine's own; $JSON puts the keys of objects in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Line = str | tuple[str, str]

ANONYMOUS = "--env=-* --env=PATH=/usr/bin:/bin --cwd=/tmp"
FIELDS = (
    "{id} {name} {status} {status_abbrev} {result} {returncode} {success} {ntasks} {nnodes} {ncores} {ranks} "
    "{nodelist} {urgency} {priority} {exception.occurred} {exception.type} {exception.severity} "
    "{exception.note}"
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """Lines for the instance that is shared, or (`fresh`) for one of their own.

    That one has `extra` in its broker.toml, `properties` in its R, and declares hosts that are `absent`.
    """

    name: str
    lines: tuple[Line, ...]
    fresh: bool = False
    extra: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


LISTED = (
    "broker", "start", "submit", "submit --cc", "submit --watch", "submit --dependency",
    "submit --urgency", "submit --setattr", "submit --dry-run", "submit --bcc", "submit --begin-time",
    "bulksubmit", "run", "batch", "alloc", "jobs", "jobs --stats", "jobs --stats-only", "jobs --since",
    "watch", "pgrep", "pkill", "job attach", "job status", "job last", "job wait ", "job info",
    "job eventlog", "job wait-event", "job raise", "job kill", "job urgency", "job stats", "job id",
    "cancel", "queue list", "queue status", "queue stop", "queue start", "queue idle", "queue drain",
    "resource list", "resource status", "resource drain", "resource undrain", "overlay status", "R encode",
    "update", "update --wait",
    "keygen", "getattr", "uptime", "dump", "shutdown", "shutdown --dump", "version",
)  # fmt: skip
"""The command lines that the embedded instance must have; each has a line in transcripts_*.py."""
