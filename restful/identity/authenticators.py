"""Who else knows passwords: plug-ins of the entry-point group `minicluster.authenticators`.

A user whom one of them knows is known again by (issuer, name there), never by a name or an address here: a
user `admin` of this service is not the machine's.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "minicluster.authenticators"


class PasswordAuthenticator(Protocol):
    """What a plug-in is: an entry point leads to a function without parameters that returns one."""

    @property
    def issuer(self) -> str:
        """What its users are known by, besides their name there; it never changes."""

    async def authenticate(self, name: str, password: str) -> bool:
        """Return whether a name has a password. It must not block, and may raise the problem `busy`."""


def load(names: Iterable[str]) -> tuple[PasswordAuthenticator, ...]:
    """Return the plug-ins with these names. Raises ValueError, with words for people, if one is unknown."""
    found = {each.name: each for each in entry_points(group=GROUP)}
    loaded = []
    for name in names:
        if name not in found:
            there = ", ".join(sorted(found)) or "none"
            raise ValueError(f"there is no authenticator {name[:40]!r}; installed are: {there}")
        loaded.append(found[name].load()())
    return tuple(loaded)
