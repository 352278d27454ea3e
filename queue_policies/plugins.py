"""The one door by which policies are found, for ours and for other people's.

A plug-in is a module, named by an entry point of the group `minicluster.policies`, that implements the hook:

    from queue_policies.plugins import hookimpl

    @hookimpl
    def minicluster_policies():
        return [MyPolicy]          # classes as `queue_policies.policy.Policy` describes them
"""

from __future__ import annotations

import dataclasses
import difflib
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, cast

import pluggy

from queue_policies.errors import PolicyPlugin, PolicySettings, UnknownPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from queue_policies.policy import Policy

GROUP = "minicluster.policies"
_PROJECT = "minicluster_policies"
_BUILT_IN = ("queue_policies.builtin",)

hookspec = pluggy.HookspecMarker(_PROJECT)
hookimpl = pluggy.HookimplMarker(_PROJECT)


class Hooks:
    """The hooks that a plug-in may implement."""

    @hookspec
    def minicluster_policies(self) -> Iterable[type[Policy]]:  # type: ignore[empty-body]
        """Return the policies that the plug-in offers."""


def policies() -> dict[str, type[Policy]]:
    """Every policy by its name. Raises PolicyPlugin, naming the plug-in that does not load."""
    plugins = pluggy.PluginManager(_PROJECT)
    plugins.add_hookspecs(Hooks)
    for module in _BUILT_IN:
        plugins.register(import_module(module))
    for entry in metadata.entry_points(group=GROUP):
        _register(plugins, entry)
    found: dict[str, type[Policy]] = {}
    for implementation in plugins.hook.minicluster_policies.get_hookimpls():
        for policy in _offered(implementation):
            found.setdefault(policy.name, policy)
    return found


def load(name: str, settings: Mapping[str, Any] | None = None) -> Policy:
    """Make the policy called `name`.

    Raises UnknownPolicy (with the nearest names), PolicySettings or PolicyPlugin.
    """
    known = policies()
    kind = known.get(name)
    if kind is None:
        raise UnknownPolicy(f"unknown queue policy {name!r}{_nearest(name, known)}")
    return _configured(kind, settings or {})


def _register(plugins: pluggy.PluginManager, entry: metadata.EntryPoint) -> None:
    try:
        plugins.register(entry.load(), entry.name)
    except Exception as error:
        raise PolicyPlugin(
            f"policy plug-in {entry.name} ({entry.value}) does not load: {type(error).__name__}: {error}"
        ) from error


def _offered(implementation: pluggy.HookImpl) -> list[type[Policy]]:
    name = implementation.plugin_name
    try:
        offered: list[type[Policy]] = list(cast("Iterable[type[Policy]]", implementation.function()))
    except Exception as error:
        raise PolicyPlugin(f"policy plug-in {name} does not load: {type(error).__name__}: {error}") from error
    for policy in offered:
        if not (dataclasses.is_dataclass(policy) and callable(getattr(policy, "decide", None))):
            raise PolicyPlugin(
                f"policy plug-in {name} offers {policy!r}, which is no dataclass with decide(state, now)"
            )
        if not isinstance(getattr(policy, "name", None), str):
            raise PolicyPlugin(f"policy plug-in {name} offers {policy!r} without a name")
    return offered


def _configured(kind: type[Policy], settings: Mapping[str, Any]) -> Policy:
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in settings.items():
        field = fields.get(key.replace("-", "_"))
        if field is None:
            raise PolicySettings(f"queue policy {kind.name}: unknown setting {key!r}{_nearest(key, fields)}")
        values[field.name] = _checked(kind.name, field, value)
    return kind(**values)


def _checked(policy: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """A setting has the type of its default; a whole number may stand for a float."""
    wanted = type(field.default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    wrong = f"queue policy {policy}: setting {field.name} is {value!r}; it must be"
    if field.default is not dataclasses.MISSING and type(value) is not wanted:
        raise PolicySettings(f"{wrong} of type {wanted.__name__}, like its default {field.default!r}")
    choices, least = field.metadata.get("choices"), field.metadata.get("least")
    if choices and value not in choices:
        raise PolicySettings(f"{wrong} one of {', '.join(choices)}")
    if least is not None and not value >= least:
        raise PolicySettings(f"{wrong} {least:g} or more")
    return value


def _nearest(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name.replace("-", "_"), names, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(names)}" if names else "; it has none"
