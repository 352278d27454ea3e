"""Finds kinds of providers, ours and those of plug-ins, by their entry points, and opens providers of them.

An entry point of the group `minicluster.burst_providers` has the name that the settings have as `kind`. It
leads to a ProviderKind. One that does not load is passed over: the registry has its problem, and only
settings that name it are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from burst.clusters.records import MACHINE_KINDS
from burst.errors import BurstError, SettingsInvalid
from minicluster.document.problems import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from pydantic import BaseModel

    from burst.joining.records import JoinSettings
    from burst.joining.tunnel_pods import TunnelPods
    from burst.providers.provider import BurstProvider, WantedBurst
    from burst.settings.file import SettingsFile
    from minicluster.document.errors import Problem

GROUP = "minicluster.burst_providers"


class ProviderContext(NamedTuple):
    """What a provider gets besides its settings."""

    join: Callable[[WantedBurst], JoinSettings]
    """Returns what brokers of a burst need in order to join. Raises LeadAway and RetryLater."""
    state: Path
    """A private directory of this service, for what a provider keeps on this machine."""
    tunnel_pods: TunnelPods | None = None
    """Where the lead's side of tunnels runs in pods, for a service that is one itself."""
    join_machines: Callable[[WantedBurst], JoinSettings] | None = None
    """As `join`, for machines that are no pods. Kinds in MACHINE_KINDS have it as `join`."""


@runtime_checkable
class ProviderKind(Protocol):
    """Makes providers of one kind: `local`, `kubernetes`, or what a plug-in brings."""

    @property
    def settings(self) -> type[BaseModel]:
        """The settings of one provider: frozen, extra fields forbidden, with units in the fields' names."""

    def open(self, name: str, settings: BaseModel, context: ProviderContext) -> BurstProvider:
        """Return a provider with this name. This makes no call. Raises BurstError, for an administrator."""


@dataclass(frozen=True, slots=True)
class ProviderKinds:
    """All kinds, by name."""

    kinds: Mapping[str, ProviderKind] = field(default_factory=dict)
    """Those that can be used."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the others."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in that is passed over."""
        return tuple(f"{each}; it is passed over" for each in self.problems.values())

    def problem(self, name: str) -> str:
        """Return why there is no kind of this name; empty: there is one."""
        if name in self.kinds:
            return ""
        if name in self.problems:
            return self.problems[name]
        near = nearest(name, tuple(self.kinds))
        hint = f'did you mean "{near}"?' if near else f"known: {', '.join(self.kinds) or 'none'}"
        return f'no kind of provider is called "{name}"; {hint}'


def kinds() -> ProviderKinds:
    """Load every kind. What is wrong with a plug-in is in `problems`; it raises nothing."""
    found: dict[str, ProviderKind] = {}
    problems: dict[str, str] = {}
    for name, entry in _entries().items():
        plugin = f"kind of provider {name} ({entry.value})"
        try:
            loaded = entry.load()
            is_kind = isinstance(loaded, ProviderKind)
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            problems[name] = f"{plugin} does not load: {type(error).__name__}: {error}"
            continue
        if is_kind:
            found[name] = loaded
        else:
            problems[name] = f"{plugin} is no burst.providers.plugins.ProviderKind: {loaded!r}"
    return ProviderKinds(found, problems)


def _entries() -> dict[str, EntryPoint]:
    """Return the entry points by name. Where two have one name, ours is taken, else the first."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: not each.value.startswith("burst.")):
        found.setdefault(entry.name, entry)
    return dict(sorted(found.items()))


def open_providers(
    file: SettingsFile, context: ProviderContext, known: ProviderKinds | None = None
) -> Mapping[str, BurstProvider]:
    """Return the providers of a settings file by name, of the kinds that are known, else of all.

    Raises SettingsInvalid with all problems: unknown kinds, settings that they do not take or cannot use.
    """
    known = kinds() if known is None else known
    opened: dict[str, BurstProvider] = {}
    problems: list[Problem] = []
    for index, each in enumerate(file.settings.providers):
        path = ("providers", index)
        if refusal := known.problem(each.kind):
            problems.append(file.problem((*path, "kind"), refusal))
            continue
        kind = known.kinds[each.kind]
        try:
            settings = file.part((*path, "settings"), kind.settings)
        except SettingsInvalid as error:
            problems += error.problems
            continue
        try:
            opened[each.name] = kind.open(each.name, settings, _for_kind(context, each.kind))
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            refusal = f"kind {each.kind} does not take them: {_words(error)}"
            problems.append(file.problem((*path, "settings"), refusal))
    if problems:
        raise SettingsInvalid(problems)
    return opened


def _for_kind(context: ProviderContext, kind: str) -> ProviderContext:
    by_machines = context.join_machines
    return context._replace(join=by_machines) if kind in MACHINE_KINDS and by_machines else context


def _words(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, BurstError) and text else f"{type(error).__name__}: {text}"
