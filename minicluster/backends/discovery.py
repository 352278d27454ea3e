"""The one door by which back ends are found, for ours and for other people's.

A plug-in's entry point of the group `minicluster.backends` has the name that people write behind --on, and
leads to a `minicluster.backends.port.BackendKind`. One that does not load is passed over: it is a problem of
the registry, and an error only for those who ask for it.
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
"""The back end that is meant where none is named."""
_OURS = (USUAL, "kubernetes")


@dataclass(frozen=True, slots=True)
class BackendRegistry:
    """The back ends that can be used, and by their names what is wrong with the others."""

    kinds: Mapping[str, BackendKind] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

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


def names() -> tuple[str, ...]:
    """Return the names of all back ends, ours first; none is imported for that."""
    return tuple(_entries())


def registry() -> BackendRegistry:
    """Find every back end. What is wrong with a plug-in stands in `problems`; nothing is raised for it."""
    kinds: dict[str, BackendKind] = {}
    problems: dict[str, str] = {}
    for name, entry in _entries().items():
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
    return BackendRegistry(kinds, problems)


def _entries() -> dict[str, EntryPoint]:
    """Return the entry points by name; of two with one name ours, else the first."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(
        entry_points(group=GROUP), key=lambda each: not each.value.startswith("minicluster.")
    ):
        found.setdefault(entry.name, entry)
    ranks = {name: number for number, name in enumerate(_OURS)}
    return {name: found[name] for name in sorted(found, key=lambda name: (ranks.get(name, len(ranks)), name))}
