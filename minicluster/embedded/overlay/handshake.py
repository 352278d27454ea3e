"""Who may join: what a lead says to a follower's `hello`, in the words of real Flux."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minicluster.embedded.overlay.message_guard import quoted

if TYPE_CHECKING:
    from minicluster.embedded.configuration import Bootstrap
    from minicluster.embedded.ports import JSON

_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def objection(bootstrap: Bootstrap, version: str, hello: JSON) -> str | None:
    """Return why a broker must not join an instance of this version, or None."""
    hosts, rank = bootstrap.hosts, hello.get("rank")
    if not isinstance(rank, int) or not 0 < rank < bootstrap.size:
        return f"rank {quoted(rank)} is not a child of rank 0: mismatched config?"
    if bootstrap.named and hello.get("host") != hosts[rank]:
        return f"{hosts[rank]} is configured as rank {rank}: mismatched config?"
    other = str(hello.get("version"))
    if _major_minor(other) != _major_minor(version):
        return f"client ({quoted(other)}) version mismatched with server ({version})"
    return None


def _major_minor(version: str) -> tuple[str, str] | None:
    found = _RELEASE.fullmatch(version)
    return None if found is None else (found[1], found[2])
