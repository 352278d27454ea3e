"""The console of all commands: Flux's messages on standard error, exit codes, option parser."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from broker_config.formats.durations import seconds

if TYPE_CHECKING:
    from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations; `prog` is the command's name in its usage line."""

    def __init__(self, prog: str, usage: str | None = None, **options: Any) -> None:
        super().__init__(prog=prog, usage=usage, allow_abbrev=False, **options)

    def flag(self, *names: str, help: str, **settings: Any) -> None:  # noqa: A002 - argparse's name
        """Add an option without a value."""
        self.add_argument(*names, action="store_true", help=help, **settings)


class CommandError(Exception):
    """Ends a command with exit code `code`; `text` goes to standard error behind the command's name."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def fail(text: str, code: int = 1) -> NoReturn:
    """End the command with a message."""
    raise CommandError(text, code)


def subcommand(argv: list[str], only: str) -> list[str]:
    """Return the words behind a command's `only` subcommand, or end the command."""
    command, *words = argv
    if words[:1] == [only]:
        return words[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(f"usage: flux {command} {only} [OPTIONS]")
        raise SystemExit(0)
    if not words:
        fail("missing subcommand")
    fail(f"`{words[0]}' is not in the embedded instance", 2)


def note(text: str) -> None:
    """Write one line to standard error."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def job_argument(text: str) -> int:
    """Parse a job id in any encoding; an argparse type."""
    try:
        return jobid.parse(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid JobID value: '{text}'") from None


def parsed_id(text: str, wrong: str = 'error parsing jobid: "{}"') -> int:
    """Read a job id as `flux job` does, or end the command with the message `wrong`."""
    try:
        return jobid.parse(text)
    except ValueError:
        fail(wrong.format(text))


def limit(text: str | None, bare: float = 1.0) -> float | None:
    """Return a limit of time in seconds, or end the command; a number without a unit is one of `bare`."""
    try:
        return seconds(text, bare) if text else None
    except ValueError as error:
        fail(str(error))
