"""`flux bulksubmit`: a job for each combination of inputs behind `:::`, or for each line that is read."""

from __future__ import annotations

import itertools
import random
import sys
from typing import TYPE_CHECKING, TextIO

from minicluster.embedded.commands import submission
from minicluster.embedded.commands.console import fail
from minicluster.embedded.commands.replacements import Input, replaced
from minicluster.embedded.commands.submit import add_copies, copies, submit_all, without_dashes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import CodeType

_DELIMITER = ":::"


def main(argv: list[str]) -> int:
    """Run `flux bulksubmit`."""
    options = _parser().parse_args(argv[1:])
    jobs = list(_jobs(options))
    if not jobs:
        fail("no jobs provided for bulk submission")
    if options.shuffle:
        random.shuffle(jobs)
    if options.verbose or options.dry_run:
        for job in jobs:
            print("bulksubmit: submit " + " ".join([*job.changed, *job.command]))
    return 0 if options.dry_run else submit_all(options, (one for job in jobs for one in copies(job)))


def _parser() -> argparse.ArgumentParser:
    parser = submission.parser("bulksubmit", "COMMAND [ARGS...] [::: INPUT...]...")
    add_copies(parser)
    text = parser.add_argument
    text("--sep", metavar="STRING", default="\n", help="what is between inputs; none: white space")
    text("--define", metavar="NAME=CODE", action="append", default=[], help="{.NAME} is CODE of x")
    parser.flag("--shuffle", help="submit in random order")
    return parser


def _jobs(options: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """Yield the options of each job."""
    methods = dict(map(_method, options.define))
    options.command, inputs = _split(without_dashes(options.command), options.sep)
    options.command = options.command or ["{}"]
    for number, texts in enumerate(inputs):
        words = [Input(text, methods) for text in texts]
        yield replaced(options, *words, seq=number, seq1=number + 1, cc="{cc}")


def _method(text: str) -> tuple[str, CodeType]:
    name, _, code = text.partition("=")
    try:
        return name, compile(code, name, "eval")
    except SyntaxError as error:
        fail(f"--define: {text}: {error.msg}")


def _split(words: list[str], separator: str) -> tuple[list[str], list[list[str]]]:
    """Split the words into the command and the inputs of each job."""
    between = bytes(separator, "utf-8").decode("unicode_escape")
    sep = None if between.lower() == "none" else between
    starts = [index for index, word in enumerate(words) if word.startswith(_DELIMITER)]
    if not starts:
        return words, [[text] for text in _read(sys.stdin, sep)]
    parts = [words[start:stop] for start, stop in itertools.pairwise([*starts, len(words)])]
    sources = [(_inputs(part, sep), part[0][3:] in ("+", ":+")) for part in parts]
    jobs = [list(each) for each in itertools.product(*(texts for texts, linked in sources if not linked))]
    for index, (texts, linked) in enumerate(sources):
        if linked:
            for job, text in zip(jobs, itertools.cycle(texts), strict=False):
                job.insert(index, text)
    return words[: starts[0]], jobs


def _inputs(part: list[str], sep: str | None) -> list[str]:
    """Return the inputs behind a delimiter; `::::` names a file of them."""
    delimiter, *texts = part
    if delimiter != ":" + _DELIMITER:
        return texts
    if len(texts) != 1:
        fail("Multiple args not allowed after ::::" if texts else "A file is missing after ::::")
    if texts[0] == "-":
        return _read(sys.stdin, sep)
    try:
        with open(texts[0], encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - slow to import
            return _read(file, sep)
    except OSError as error:
        fail(f"{error.strerror}: '{texts[0]}'")


def _read(file: TextIO, sep: str | None) -> list[str]:
    return [text for text in file.read().split(sep) if text]
