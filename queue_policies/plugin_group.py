"""One loader for the two kinds of plug-ins: queue policies and placements.

Both are classes that plug-ins offer by a hook: dataclasses whose fields are settings, each with a default.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import metadata
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import pluggy

from queue_policies.errors import PolicyPlugin, PolicySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from queue_policies.errors import PolicyError

Plugged = TypeVar("Plugged")
PROJECT = "minicluster_policies"
"""Pluggy's name for all hooks of this package."""
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Why a plug-in, or one of its policies, is ignored."""

    name: str
    """The policy's name, or the entry point's if the plug-in failed before it returned policies."""
    text: str
    """The plug-in and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class PluginRegistry(Generic[Plugged]):
    """The classes of a group that can be used, and what is wrong with the others."""

    group: PluginGroup[Plugged]
    classes: dict[str, type[Plugged]]
    """By their names."""
    problems: tuple[PluginProblem, ...]

    @property
    def unknown(self) -> tuple[PluginProblem, ...]:
        """The problems by which a class may be missing: all but those of names that are taken."""
        return tuple(each for each in self.problems if each.name not in self.classes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in, or class of one, that is ignored."""
        return tuple(f"{each.text}; it is passed over" for each in self.problems)

    def failure(self, name: str) -> str:
        """Return why the class of this name is ignored; empty if it is not, or is unknown."""
        return next((each.text for each in self.unknown if each.name == name), "")

    def kind(self, name: str) -> type[Plugged]:
        """Return the class of this name.

        Raises PolicyPlugin if that class is ignored. Raises the group's `unknown` with the nearest name, and
        with the plug-ins that failed before they returned anything.
        """
        if name in self.classes:
            return self.classes[name]
        if failure := self.failure(name):
            raise PolicyPlugin(failure)
        wrong = f"unknown {self.group.noun} {name!r}{nearest(name, self.classes)}"
        raise self.group.unknown("; ".join((wrong, *(each.text for each in self.unknown))))


@dataclass(frozen=True, slots=True)
class PluginGroup(Generic[Plugged]):
    """A kind of plug-ins, and the words for it."""

    group: str
    """Of the entry points."""
    ours: Mapping[str, str]
    """Where each class of this package is, by its name; it is imported when it is asked for."""
    hook: str
    hooks: type
    """The class with the hook's specification."""
    noun: str
    """What its classes are called before a name."""
    short: str
    """The same without a name before it."""
    method: str
    """What each of its classes has."""
    call: str
    """The same with its arguments."""
    unknown: type[PolicyError]
    """Raised for a name that none has."""

    @property
    def entries(self) -> Iterable[metadata.EntryPoint]:
        """The entry points of installed plug-ins."""
        return metadata.entry_points(group=self.group)

    def registry(self) -> PluginRegistry[Plugged]:
        """Find every class. A plug-in's errors are in `problems`; they raise nothing."""
        found: dict[str, type[Plugged]] = {name: resolve_name(where) for name, where in self.ours.items()}
        plugins = pluggy.PluginManager(PROJECT)
        plugins.add_hookspecs(self.hooks)
        problems: list[PluginProblem] = []
        for entry in self.entries:
            problems += self._register(plugins, entry)
        for implementation in getattr(plugins.hook, self.hook).get_hookimpls():
            problems += self._add(implementation, found)
        return PluginRegistry(self, found, tuple(problems))

    def load(
        self,
        name: str,
        settings: Mapping[str, Any] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> Plugged:
        """Make what is called `name`; `warn` is called for each plug-in that is ignored.

        Raises `unknown` (with the nearest names), PolicySettings or PolicyPlugin.
        """
        if name in self.ours and not self.entries:
            return self.configured(resolve_name(self.ours[name]), settings or {})
        known = self.registry()
        made = self.configured(known.kind(name), settings or {})
        if warn is not None:
            for text in known.warnings:
                warn(text)
        return made

    def configured(self, kind: Any, settings: Mapping[str, Any]) -> Plugged:
        """Make an instance with these settings. Raises PolicySettings."""
        fields = {field.name: field for field in dataclasses.fields(kind)}
        values: dict[str, Any] = {}
        for key, value in settings.items():
            field = fields.get(key.replace("-", "_"))
            if field is None:
                wrong = f"unknown setting {key!r}{nearest(key, fields)}"
                raise PolicySettings(f"{self.noun} {kind.name}: {wrong}")
            values[field.name] = self._checked(kind.name, field, value)
        return cast("Plugged", kind(**values))

    def fault(self, offered: Any) -> str:
        """Return what is wrong with an offered class, empty: nothing."""
        name = getattr(offered, "name", None)
        method = getattr(offered, self.method, None)
        if not (isinstance(offered, type) and dataclasses.is_dataclass(offered) and callable(method)):
            return f"{offered!r}, which is no dataclass with {self.call}"
        if not isinstance(name, str) or not name:
            return f"{offered!r} without a name"
        for field in dataclasses.fields(offered):
            if field.init and field.default is field.default_factory is dataclasses.MISSING:
                return f"{offered!r}, whose setting {field.name!r} has no default"
        return ""

    def _register(self, plugins: pluggy.PluginManager, entry: metadata.EntryPoint) -> Iterator[PluginProblem]:
        plugin = f"{self.short} plug-in {entry.name} ({entry.value})"
        try:
            module = entry.load()
            plugins.register(module, entry.name)
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            yield PluginProblem(entry.name, f"{plugin} does not load: {type(error).__name__}: {error}")
            return
        if not plugins.get_hookcallers(module):
            yield PluginProblem(entry.name, f"{plugin} does not implement the hook {self.hook}")

    def _add(self, implementation: pluggy.HookImpl, found: dict[str, Any]) -> Iterator[PluginProblem]:
        """Add what a plug-in offers to the others; the first of a name stays."""
        plugin = implementation.plugin_name
        try:
            offered = list(cast("Iterable[Any]", implementation.function()))
        except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
            text = f"{self.short} plug-in {plugin} does not load: {type(error).__name__}: {error}"
            yield PluginProblem(plugin, text)
            return
        for each in offered:
            name = getattr(each, "name", None)
            named = name if isinstance(name, str) else ""
            wrong = self.fault(each)
            if not wrong and found.setdefault(named, each) is not each:
                first = found[named]
                wrong = f"another {self.short} {named!r}: there is {first.__module__}.{first.__name__}"
            if wrong:
                yield PluginProblem(named or plugin, f"{self.short} plug-in {plugin} offers {wrong}")

    def _checked(self, name: str, field: dataclasses.Field[Any], value: Any) -> Any:
        """Return a setting's value, which has the type of its default; an integer is valid for a float."""
        wanted = type(field.default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        given = shown(value) if isinstance(value, bool) else repr(value)
        wrong = f"{self.noun} {name}: setting {field.name} is {given}; it must be"
        if field.default is not dataclasses.MISSING and type(value) is not wanted:
            kind = _KINDS.get(wanted, f"of type {wanted.__name__}")
            raise PolicySettings(f"{wrong} {kind}, like its default {shown(field.default)}")
        choices, least = field.metadata.get("choices"), field.metadata.get("least")
        if choices and value not in choices:
            raise PolicySettings(f"{wrong} one of {', '.join(choices)}")
        if least is not None and not value >= least:
            raise PolicySettings(f"{wrong} {least:g} or more")
        return value


def shown(value: object) -> str:
    """Return a setting's value as a user writes it, behind a name or in a document."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return which of the known names may be meant, or which there are, as the end of a message."""
    import difflib  # noqa: PLC0415 - a lead needs it for no name that there is

    names = sorted(known)
    near = difflib.get_close_matches(name.replace("-", "_"), names, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(names)}" if names else "; it has none"
