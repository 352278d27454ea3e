"""How commands talk to their user: Flux's messages on standard error, exit codes, option parser."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from minicluster.embedded import jobid

if TYPE_CHECKING:
    from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations; `prog` is the command as its usage line says it."""

    def __init__(self, prog: str, usage: str | None = None, **options: Any) -> None:
        super().__init__(prog=prog, usage=usage, allow_abbrev=False, **options)


class CommandError(Exception):
    """Ends a command: `text` goes to standard error behind the command's name, then exit with `code`."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def fail(text: str, code: int = 1) -> NoReturn:
    """End the command with a message."""
    raise CommandError(text, code)


def absent(words: list[str]) -> NoReturn:
    """End a command whose subcommand, the first of `words`, is not there."""
    fail(
        f"`{words[0]}' is not in the embedded instance" if words else "missing subcommand", 2 if words else 1
    )


def note(text: str) -> None:
    """Write one line to standard error."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def job_argument(text: str) -> int:
    """An argparse type: a job id in any encoding."""
    try:
        return jobid.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid JobID value: '{text}'") from None


def seconds(text: str) -> float:
    """Read a Flux Standard Duration (RFC 23). Raises ValueError."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    unit = next((unit for unit in units if text.endswith(unit)), "")
    try:
        number = float(text.removesuffix(unit))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError("invalid Flux standard duration")
    return number * units.get(unit, 1.0)


def parsed_id(text: str) -> int:
    """Read a job id as `flux job` does, or end the command."""
    try:
        return jobid.parse(text)
    except ValueError:
        fail(f'error parsing jobid: "{text}"')
