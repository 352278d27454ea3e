"""The options of every `flux` command line, as its parser here has them and as real Flux's help does."""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
from typing import TYPE_CHECKING, Any

from minicluster.embedded import main
from minicluster.embedded.commands import job

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

SUBCOMMANDS = {"job": [*job._ELSEWHERE, *job._COMMANDS], "overlay": ["status"], "R": ["encode"]}
NO_PARSER = {"broker"}
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


class Reached(Exception):  # noqa: N818 - it ends a command at its parser
    """A command has made its parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def ours(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[str, ...]]]:
    """Return the spellings of each option, by command and subcommand."""

    def reached(self: argparse.ArgumentParser, *_arguments: Any, **_options: Any) -> None:
        raise Reached(self)

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", reached)
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, (module, _purpose) in main._COMMANDS.items():
        for subcommand in SUBCOMMANDS.get(name, [""]) if name not in NO_PARSER else ():
            words = [name, subcommand] if subcommand else [name]
            run = importlib.import_module(f"minicluster.embedded.{module}").main
            try:
                run(words if module.startswith("commands.") else words[1:])
            except Reached as end:
                found |= dict(_options(" ".join(words), end.parser))
    return found


def _options(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for each in below:
        for subcommand, one in each.choices.items():
            yield from _options(f"{name} {subcommand}", one)
    if not below:
        options = [tuple(each.option_strings) for each in parser._actions if each.option_strings]
        yield name, [each for each in options if "--help" not in each]


def of_flux(flux: str, command: str) -> list[tuple[str, ...]]:
    """Return the spellings of each option that real Flux's help lists."""
    asked = [flux, *command.split(), "--help"]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    text = ran.stdout + ran.stderr
    lines = (re.split(r" {2,}", line.strip())[0] for line in text.splitlines() if re.match(r" {1,8}-", line))
    options = [tuple(_OPTION.findall(line)) for line in lines]
    return [each for each in options if each and "--help" not in each]
