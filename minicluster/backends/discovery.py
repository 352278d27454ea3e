"""Finds the back ends, ours and those of plug-ins, by their entry points.

An entry point of the group `minicluster.backends` has the name that users write behind --on. It leads to a
`minicluster.backends.port.BackendKind`. A plug-in that does not load is passed over: the registry lists its
problem, and only a command that asks for it fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from minicluster.backends.errors import BackendPlugin, UnknownBackend
from minicluster.backends.port import BackendKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

GROUP = "minicluster.backends"
USUAL = "local"
"""The back end of a command without --on."""
_OURS = (USUAL, "kubernetes", "server")


@dataclass(frozen=True, slots=True)
class BackendRegistry:
    """All back ends, by name."""

    kinds: Mapping[str, BackendKind] = field(default_factory=dict)
    """Those that can be used."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the others."""
    names: tuple[str, ...] = ()
    """The names of both, ours first."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in that is passed over."""
        return tuple(f"{each}; it is passed over" for each in self.problems.values())

    def kind(self, name: str) -> BackendKind:
        """Return a back end. Raises BackendPlugin where it is passed over, UnknownBackend."""
        if name in self.problems:
            raise BackendPlugin(self.problems[name])
        if name not in self.kinds:
            raise UnknownBackend(f"unknown back end {name!r}; known are {', '.join(self.kinds)}")
        return self.kinds[name]


def registry() -> BackendRegistry:
    """Load every back end. What is wrong with a plug-in is in `problems`; it raises nothing."""
    kinds: dict[str, BackendKind] = {}
    problems: dict[str, str] = {}
    entries = _entries()
    for name, entry in entries.items():
        plugin = f"back end {name} ({entry.value})"
        try:
            found = entry.load()
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            problems[name] = f"{plugin} does not load: {type(error).__name__}: {error}"
            continue
        if isinstance(found, BackendKind):
            kinds[name] = found
        else:
            problems[name] = f"{plugin} is no minicluster.backends.port.BackendKind: {found!r}"
    return BackendRegistry(kinds, problems, tuple(entries))


def _entries() -> dict[str, EntryPoint]:
    """Return the entry points by name. Where two have one name, ours is taken, else the first."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(
        entry_points(group=GROUP), key=lambda each: not each.value.startswith("minicluster.")
    ):
        found.setdefault(entry.name, entry)
    ranks = {name: number for number, name in enumerate(_OURS)}
    return {name: found[name] for name in sorted(found, key=lambda name: (ranks.get(name, len(ranks)), name))}
