"""Batch scripts: `submit --batch`, and the options that a script has in its own directives (RFC 36)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minicluster.cli import slurm_words
from minicluster.cli.program_command import BackendProgramCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OURS = {
    "--nslots": "--tasks",
    "--cores-per-slot": "--cores-per-task",
    "--gpus-per-slot": "--gpus-per-task",
    "--time-limit": "-t",  # whose numbers without a unit are minutes, as in `flux batch`
}
"""What options of `flux batch` are called here."""


class SubmitCommand(BackendProgramCommand):
    """A command with a program; with --batch that is a script, which may have options of its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line. Raises BadParameter, UsageError."""
        with slurm_words.explained():
            return super().parse_args(ctx, args)

    def completed(self, ctx: Any, options: Sequence[str], words: Sequence[str]) -> Sequence[str]:
        """Put the options of the script before those of the command line, which override them."""
        values, _, _ = self.make_parser(ctx).parse_args(list(options))
        if not values.get("batch") or len(words) < 2:
            return options
        # One of the command line has seconds, and overrides that of the script, which is -t.
        over = ("-t", "") if values.get("time_limit") else ()
        return [*self._own(ctx, words[1]), *over, *options]

    def _own(self, ctx: Any, script: str) -> Iterator[str]:
        """Yield the words of a script's directives. Raises BadParameter."""
        from broker_config.formats import directives
        from broker_config.formats.errors import DirectiveError

        try:
            found = directives.read(text(script))
        except DirectiveError as error:
            raise typer.BadParameter(str(error), param_hint=script) from error
        for line, words in found:
            translated = [each for word in words for each in _translated(word)]
            self._check(ctx, script, line, translated)
            yield from translated

    def _check(self, ctx: Any, script: str, line: int, words: list[str]) -> None:
        try:
            with slurm_words.explained():
                self.make_parser(ctx).parse_args(list(words))
        except Exception as error:
            message = getattr(error, "message", "")
            if not message:
                raise
            raise typer.BadParameter(f"line {line}: {message}", param_hint=script) from error


def text(script: str) -> str:
    """Return the text of a script. Raises BadParameter."""
    try:
        return Path(script).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot be read: {error.strerror}", param_hint=script) from error
    except UnicodeError as error:
        raise typer.BadParameter("is no script: it is no text in UTF-8", param_hint=script) from error


def _translated(word: str) -> list[str]:
    name, equals, value = word.partition("=")
    if name not in _OURS:
        return [word]
    return [_OURS[name], *([value] if equals else [])]
