"""Finds policies: ours, and those of plug-ins.

A plug-in is a module, named by an entry point of the group `minicluster.policies`, that implements the hook:

    from queue_policies.plugins import hookimpl

    @hookimpl
    def minicluster_policies():
        return [MyPolicy]          # classes as `queue_policies.policy.Policy` describes them

A plug-in that does not load, and a class that is no policy, are ignored. The registry lists them as problems.
They are an error only when that policy is loaded.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

import pluggy

from queue_policies import builtin
from queue_policies.errors import PolicyPlugin, PolicySettings, UnknownPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from queue_policies.policy import Policy

GROUP = "minicluster.policies"
_PROJECT = "minicluster_policies"
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}

hookspec = pluggy.HookspecMarker(_PROJECT)
hookimpl = pluggy.HookimplMarker(_PROJECT)


class Hooks:
    """The hooks that a plug-in may implement."""

    @hookspec
    def minicluster_policies(self) -> Iterable[type[Policy]]:  # type: ignore[empty-body]
        """Return the policies that the plug-in offers."""


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Why a plug-in, or one of its policies, is ignored."""

    name: str
    """The policy's name, or the entry point's if the plug-in failed before it returned policies."""
    text: str
    """The plug-in and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class PolicyRegistry:
    """The policies that can be used, and what is wrong with the others."""

    policies: dict[str, type[Policy]]
    problems: tuple[PluginProblem, ...]

    @property
    def unknown(self) -> tuple[PluginProblem, ...]:
        """The problems by which a policy may be missing: all but those of names that are taken."""
        return tuple(each for each in self.problems if each.name not in self.policies)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each plug-in or policy that is ignored."""
        return tuple(f"{each.text}; it is passed over" for each in self.problems)

    def failure(self, name: str) -> str:
        """Return why the policy of this name is ignored; empty if it is not, or is unknown."""
        return next((each.text for each in self.unknown if each.name == name), "")

    def kind(self, name: str) -> type[Policy]:
        """Return a policy's class.

        Raises PolicyPlugin if that policy is ignored. Raises UnknownPolicy with the nearest name, and with
        the plug-ins that failed before they returned policies.
        """
        if name in self.policies:
            return self.policies[name]
        if failure := self.failure(name):
            raise PolicyPlugin(failure)
        wrong = f"unknown queue policy {name!r}{_nearest(name, self.policies)}"
        raise UnknownPolicy("; ".join((wrong, *(each.text for each in self.unknown))))


def registry() -> PolicyRegistry:
    """Find every policy. A plug-in's errors are in `problems`; they raise nothing."""
    plugins = pluggy.PluginManager(_PROJECT)
    plugins.add_hookspecs(Hooks)
    problems: list[PluginProblem] = []
    for entry in metadata.entry_points(group=GROUP):
        problems += _register(plugins, entry)
    found = builtin.policies()
    for implementation in plugins.hook.minicluster_policies.get_hookimpls():
        problems += _add(implementation, found)
    return PolicyRegistry(found, tuple(problems))


def policies() -> dict[str, type[Policy]]:
    """Return every policy that can be used, by its name."""
    return registry().policies


def load(
    name: str,
    settings: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Policy:
    """Make the policy called `name`; `warn` is called for each plug-in that is ignored.

    Raises UnknownPolicy (with the nearest names), PolicySettings or PolicyPlugin.
    """
    if name in builtin.CLASSES and not metadata.entry_points(group=GROUP):
        return configured(builtin.kind(name), settings or {})
    known = registry()
    policy = configured(known.kind(name), settings or {})
    if warn is not None:
        for text in known.warnings:
            warn(text)
    return policy


def _register(plugins: pluggy.PluginManager, entry: metadata.EntryPoint) -> Iterator[PluginProblem]:
    plugin = f"policy plug-in {entry.name} ({entry.value})"
    try:
        module = entry.load()
        plugins.register(module, entry.name)
    except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
        yield PluginProblem(entry.name, f"{plugin} does not load: {type(error).__name__}: {error}")
        return
    if not plugins.get_hookcallers(module):
        yield PluginProblem(entry.name, f"{plugin} does not implement the hook minicluster_policies")


def _add(implementation: pluggy.HookImpl, found: dict[str, type[Policy]]) -> Iterator[PluginProblem]:
    """Add a plug-in's policies to the others; the first of a name stays."""
    plugin = implementation.plugin_name
    try:
        offered = list(cast("Iterable[Any]", implementation.function()))
    except Exception as error:  # noqa: BLE001 - a plug-in may fail with anything
        text = f"policy plug-in {plugin} does not load: {type(error).__name__}: {error}"
        yield PluginProblem(plugin, text)
        return
    for policy in offered:
        name = getattr(policy, "name", None)
        named = name if isinstance(name, str) else ""
        wrong = fault(policy)
        if not wrong and found.setdefault(named, policy) is not policy:
            first = found[named]
            wrong = f"another policy {named!r}: there is {first.__module__}.{first.__name__}"
        if wrong:
            yield PluginProblem(named or plugin, f"policy plug-in {plugin} offers {wrong}")


def fault(policy: Any) -> str:
    """Return what is wrong with an offered policy, empty: nothing."""
    name = getattr(policy, "name", None)
    decide = getattr(policy, "decide", None)
    if not (isinstance(policy, type) and dataclasses.is_dataclass(policy) and callable(decide)):
        return f"{policy!r}, which is no dataclass with decide(state, now)"
    if not isinstance(name, str) or not name:
        return f"{policy!r} without a name"
    for field in dataclasses.fields(policy):
        if field.init and field.default is field.default_factory is dataclasses.MISSING:
            return f"{policy!r}, whose setting {field.name!r} has no default"
    return ""


def configured(kind: type[Policy], settings: Mapping[str, Any]) -> Policy:
    """Make a policy with these settings. Raises PolicySettings."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in settings.items():
        field = fields.get(key.replace("-", "_"))
        if field is None:
            raise PolicySettings(f"queue policy {kind.name}: unknown setting {key!r}{_nearest(key, fields)}")
        values[field.name] = _checked(kind.name, field, value)
    return kind(**values)


def shown(value: object) -> str:
    """Return a setting's value as a user writes it, behind a policy's name or in a document."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(policy: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """Return a setting's value, which has the type of its default; an integer is valid for a float."""
    wanted = type(field.default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    given = shown(value) if isinstance(value, bool) else repr(value)
    wrong = f"queue policy {policy}: setting {field.name} is {given}; it must be"
    if field.default is not dataclasses.MISSING and type(value) is not wanted:
        kind = _KINDS.get(wanted, f"of type {wanted.__name__}")
        raise PolicySettings(f"{wrong} {kind}, like its default {shown(field.default)}")
    choices, least = field.metadata.get("choices"), field.metadata.get("least")
    if choices and value not in choices:
        raise PolicySettings(f"{wrong} one of {', '.join(choices)}")
    if least is not None and not value >= least:
        raise PolicySettings(f"{wrong} {least:g} or more")
    return value


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - a lead needs it for no policy that there is

    names = sorted(known)
    near = difflib.get_close_matches(name.replace("-", "_"), names, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(names)}" if names else "; it has none"
