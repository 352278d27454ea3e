"""A command that is given a program to run: options behind the program's name are the program's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.cli.backend_choice import BackendCommand
from minicluster.cli.help_text import PlainCommand
from minicluster.cli.option_errors import reworded

if TYPE_CHECKING:
    from collections.abc import Sequence


ONLY = "--"
"""In place of a cluster's name: the only one that is up. No cluster can be called so."""


class ProgramCommand(PlainCommand):
    """A command whose arguments are one word, and then a program with its arguments.

    Option parsing ends at the program, as in srun and flux, or at `--`.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the first word and those before the program. Raises UsageError."""
        with reworded():
            return super().parse_args(ctx, self.arranged(ctx, args))

    def arranged(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with all options in front, and `--` behind these. Raises UsageError."""
        options, words = self.split(ctx, args)
        if words and "--" not in options[-1:]:
            more, program = self.split(ctx, words[1:])
            options, words = [*options, *more], [words[0], *program]
        if not words:
            return args
        own = options[:-1] if options[-1:] == ["--"] else options
        return [*self.completed(ctx, own, words), "--", *words]

    def completed(self, ctx: Any, options: Sequence[str], words: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Return the options, with those that the words bring along: none do."""
        return options

    def split(self, ctx: Any, args: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the leading options, with the `--` that ends them, and the words behind them."""
        values, extra, _ = self.make_parser(ctx).parse_args(list(args))
        count = len(extra)
        for argument in self.params:
            if argument.param_type_name == "argument":
                value = values.get(argument.name or "")
                count += len(value) if isinstance(value, tuple) else value is not None
        return list(args[: len(args) - count]), list(args[len(args) - count :])


class BackendProgramCommand(ProgramCommand, BackendCommand):
    """A command with a program that works with clusters of any back end; one is named before `--`."""

    def arranged(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with ONLY for the cluster where `--` is the first word."""
        options, words = self.split(ctx, args)
        unnamed = words and options[-1:] == ["--"]
        return super().arranged(ctx, [*options, ONLY, *words] if unnamed else args)
