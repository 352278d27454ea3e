"""The choice of a back end by a command: the option --on, and the options that back ends add to commands.

A command that works with clusters has `cls=BackendCommand`, and calls `chosen` for its back end.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.reporting import PlainReporter, print_warning

if TYPE_CHECKING:
    from minicluster.backends.discovery import BackendRegistry
    from minicluster.backends.port import Backend, BackendKind, BackendOption
    from minicluster.backends.records import ComponentVersion

_ON = "--on"
_ON_VARIABLE = "MINICLUSTER_ON"
_GIVEN = "minicluster.cli.backend_choice"
"""The key of a command's context under which the values of these options are, by their first names."""


class BackendCommand(PlainCommand):
    """A command with --on, and with the options of every back end behind its own."""

    @property
    def params(self) -> list[Any]:
        """Its own parameters and those of the back ends. The latter are looked up at the first use."""
        found: list[Any] = self.__dict__["params"]
        if not self.__dict__["extended"]:
            self.__dict__["extended"] = True
            found += _backend_parameters(self.name or "", found)
        return found

    @params.setter
    def params(self, own: list[Any]) -> None:
        self.__dict__.update(params=own, extended=False)


def chosen(ctx: typer.Context, *, quiet: bool = False) -> Backend:
    """Return the back end that --on names.

    Raises BadParameter for an option that this back end does not have, BackendPlugin where it does not load.
    """
    kind, values = _selected(ctx)
    return kind.open(values, PlainReporter(quiet=quiet))


def versions(ctx: typer.Context) -> Sequence[ComponentVersion]:
    """Return the versions in the back end that --on names. Raises as `chosen`."""
    kind, values = _selected(ctx)
    return kind.versions(values, PlainReporter()) if kind.versions else ()


def _selected(ctx: typer.Context) -> tuple[BackendKind, Mapping[str, Any]]:
    """Return the kind that --on names, and the values of its options."""
    found, given = registry(), ctx.meta[_GIVEN]
    kind = found.kind(_implied(ctx.command.name or "", given) if _is_usual(ctx) else given[_ON])
    for text in found.warnings:
        print_warning(text)
    own = kind.options_of(ctx.command.name or "")
    refuse(ctx, (each.names[0] for each in own))
    return kind, {each.key: given[each.names[0]] for each in own}


def _is_usual(ctx: typer.Context) -> bool:
    """Whether neither --on nor its variable was given."""
    source = ctx.get_parameter_source("on")
    return source is not None and source.name == "DEFAULT"


def _implied(command: str, given: Mapping[str, Any]) -> str:
    """Return the back end that an option of its own chooses, or the environment; else the usual one.

    `given` has the values of options by their first names.
    """
    from minicluster.backends import discovery

    own = [
        (name, option)
        for name, kind in registry().kinds.items()
        for option in kind.options_of(command)
        if option.chooses is not None
    ]
    by_option = (name for name, option in own if given.get(option.names[0]))
    by_environment = (name for name, option in own if option.chooses is not None and option.chooses())
    return next(iter((*by_option, *by_environment, discovery.USUAL)))


def likely(ctx: typer.Context) -> Backend:
    """Return the back end that a command line names which is still being typed: no value was checked."""
    given = ctx.params
    command = ctx.command.name or ""
    named = {option.names[0]: given.get(option.key) for option in _options(command)}
    kind = registry().kind(given.get("on") or os.environ.get(_ON_VARIABLE) or _implied(command, named))
    options = kind.options_of(command)
    texts = {each.key: given.get(each.key, each.default) for each in options if each.type is str}
    return kind.open({each.key: each.default for each in options} | texts, PlainReporter(quiet=True))


def refuse(ctx: typer.Context, known: Iterable[str] = (), needed: str = "") -> None:
    """Raise BadParameter for the first given option of a back end that is not among the known ones.

    The message names what the option needs: `needed`, or by default the back ends that have it.
    """
    command, kept = ctx.command.name or "", set(known)
    for option in _options(command):
        value = ctx.meta[_GIVEN][option.names[0]]
        if option.names[0] in kept or value in {None, "", option.default}:
            continue
        where = needed or " or ".join(f"{_ON} {name}" for name in _owners(command, option))
        first, _, negative = option.names[0].partition("/")
        word = negative if value is False else first
        raise typer.BadParameter(f"has a meaning only with {where}", param_hint=word)


@cache
def registry() -> BackendRegistry:
    """Return the registry of back ends."""
    from minicluster.backends import discovery

    return discovery.registry()


def _options(command: str) -> list[BackendOption]:
    """Return the options that back ends add to a command. Where two have one name, the first is taken."""
    found: dict[str, BackendOption] = {}
    for kind in registry().kinds.values():
        for option in kind.options_of(command):
            found.setdefault(option.names[0], option)
    return list(found.values())


def _owners(command: str, option: BackendOption) -> list[str]:
    return [
        name
        for name, kind in registry().kinds.items()
        if any(each.names[0] == option.names[0] for each in kind.options_of(command))
    ]


def _backend_parameters(command: str, own: Iterable[Any]) -> list[Any]:
    """Return the parameters that a command has besides its own."""
    from minicluster.backends import discovery

    taken = {word for each in own for word in each.opts} | {_ON}
    on = typer.Option(
        _ON,
        envvar=_ON_VARIABLE,
        help="This machine, a Kubernetes cluster, or a server.",
        expose_value=False,
        callback=_keeper(_ON),
    )
    on_parameter = _parameter("on", Literal[registry().names], on, discovery.USUAL)
    found = [on_parameter]
    for option in _options(command):
        free = [each for each in option.names if each not in taken]
        taken.update(free)
        found.append(_declared(option, free))
    return found


def _declared(option: BackendOption, names: Iterable[str]) -> Any:
    """Return a back end's option as a parameter with those of its names that are still free."""
    about = typer.Option(
        *names,
        help=option.help,
        metavar=option.metavar or None,
        parser=option.parse,
        expose_value=False,
        callback=_keeper(option.names[0]),
    )
    return _parameter(option.key, option.type, about, option.default)


def _keeper(name: str) -> Callable[..., Any]:
    """Return a callback that stores an option's value for `chosen`."""

    def keep(ctx: typer.Context, value: Any) -> Any:
        ctx.meta.setdefault(_GIVEN, {})[name] = value
        return value

    # typer passes arguments by annotation. In this module annotations are strings, so these replace them.
    keep.__annotations__ = {"ctx": typer.Context, "value": Any}
    return keep


def _parameter(name: str, kind: Any, about: Any, default: Any) -> Any:
    """Return the parameter that typer makes of a function's argument."""
    annotation = Annotated[kind, about]

    def holder() -> None:
        """Have the argument."""

    argument = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    vars(holder)["__signature__"] = inspect.Signature([argument])
    holder.__annotations__ = {name: annotation}
    app = typer.Typer(add_completion=False)
    app.command()(holder)
    return typer.main.get_command(app).params[0]
