"""What may stand next on a command line: commands, options, or the values of a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import typer

from minicluster.cli.completion import values
from minicluster.cli.program_command import ProgramCommand


class Candidate(NamedTuple):
    """One word that may stand there."""

    text: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Candidates:
    """All of them."""

    found: tuple[Candidate, ...] = ()
    files: bool = False
    """Whether it may be the name of a file, too."""
    is_open: bool = False
    """Whether a candidate is only the beginning of a word."""
    prefix: str = ""
    """What stands before each in its word: `--policy=`."""


def candidates(app: typer.Typer, program: str, words: Sequence[str], incomplete: str) -> Candidates:
    """Return what may stand at the place of the incomplete word behind these words."""
    group: Any = typer.main.get_command(app)
    above = typer.Context(group, info_name=program, resilient_parsing=True)
    name = next((word for word in words if not word.startswith("-")), "")
    if not name:
        return _of_group(group, above, incomplete)
    command = group.get_command(above, name)
    if command is None:
        return Candidates()
    return _of_command(command, above, list(words[words.index(name) + 1 :]), incomplete)


def _of_group(group: Any, context: Any, incomplete: str) -> Candidates:
    if incomplete.startswith("-"):
        return _options(group, context, incomplete)
    names = [name for name in group.list_commands(context) if name.startswith(incomplete)]
    return Candidates(tuple(Candidate(name, _first_line(group.get_command(context, name))) for name in names))


def _of_command(command: Any, above: Any, words: list[str], incomplete: str) -> Candidates:
    option = _awaiting(command, above, words)
    context = _parsed(command, above, words[:-1] if option else words)
    if option:
        return _values(option, context, incomplete)
    if incomplete.startswith("-") and not _options_have_ended(context, words):
        return _options(command, context, incomplete)
    for argument in command.params:
        if argument.param_type_name == "argument" and (
            argument.nargs != 1 or argument.name not in context.params
        ):
            return _values(argument, context, incomplete)
    return Candidates()


def _parsed(command: Any, above: Any, words: list[str]) -> Any:
    """Return the context of a command with the texts that were given for its parameters.

    They are not converted to the parameters' types: that needs pydantic, which takes too long to load.
    """
    context = typer.Context(command, info_name=command.name, parent=above, resilient_parsing=True)
    if isinstance(command, ProgramCommand):
        words = command.arranged(context, words)
    values, *_ = command.make_parser(context).parse_args(list(words))
    context.params = {
        name: value for name, value in values.items() if isinstance(value, str | tuple | list | bool)
    }
    return context


def _awaiting(command: Any, above: Any, words: list[str]) -> Any:
    """Return the option whose value comes next; None: the last word is none, or has its value."""
    found = [each for each in command.params if words[-1:] and words[-1] in each.opts]
    if not found or getattr(found[0], "is_flag", True):
        return None
    return None if _options_have_ended(_parsed(command, above, words[:-1]), words) else found[0]


def _options_have_ended(context: Any, words: Sequence[str]) -> bool:
    has_program = isinstance(context.command, ProgramCommand) and bool(context.params.get("command"))
    return has_program or "--" in words


def _options(command: Any, context: Any, incomplete: str) -> Candidates:
    """Return the options, or the values of the one whose name stands before `=`."""
    name, equals, value = incomplete.partition("=")
    known = [each for each in command.get_params(context) if each.param_type_name == "option"]
    if equals:
        option = next((each for each in known if name in each.opts), None)
        found = _values(option, context, value) if option else Candidates()
        return replace(found, prefix=name + equals)
    return Candidates(
        tuple(
            Candidate(word, _first_sentence(each.help))
            for each in known
            if not each.hidden and (each.multiple or each.name not in context.params)
            for word in (*each.opts, *each.secondary_opts)
            if word.startswith(incomplete) and (word.startswith("--") or incomplete == word)
        )
    )


def _values(parameter: Any, context: Any, incomplete: str) -> Candidates:
    found = values.of(parameter, context, incomplete)
    if found is None:
        items: Iterable[Any] = parameter.shell_complete(context, incomplete)
        return Candidates(tuple(Candidate(each.value, each.help or "") for each in items))
    texts = {text: description for text, description in found.texts.items() if text.startswith(incomplete)}
    return Candidates(tuple(map(Candidate, texts, texts.values())), found.files, found.is_open)


def _first_line(command: Any) -> str:
    return _first_sentence((command.help or "").strip().partition("\n")[0])


def _first_sentence(text: str | None) -> str:
    return (text or "").partition(". ")[0].rstrip(".:")
