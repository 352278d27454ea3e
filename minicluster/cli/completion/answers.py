"""The answers to shells and to kubectl, as lines on standard output.

The directives are cobra's (https://github.com/spf13/cobra, completions.go): 2 no space behind the word, 4 no
names of files.
"""

from __future__ import annotations

import shlex
import signal
import sys
from typing import TYPE_CHECKING

from minicluster.cli.completion import LINE
from minicluster.cli.completion.candidates import Candidates, candidates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import typer

SECONDS = 5
"""After so long a shell gets no candidates: a cluster may be out of reach."""
_NO_SPACE, _NO_FILES = 2, 4


def answer(app: typer.Typer, program: str, request: Sequence[str]) -> None:
    """Print what may stand next, for a request such as `__complete status my`."""
    kind, *words = request
    _write(_of_line(app, program, words) if kind == LINE else _of_words(app, program, words))


def answer_kubectl(app: typer.Typer, program: str, words: Sequence[str]) -> None:
    """Print what may stand next, for kubectl: it puts `--option=` before values itself."""
    _write(_of_words(app, program, words, with_prefix=False))


def _write(lines: Iterable[str]) -> None:
    """Write the lines of an answer; if they take too long, this process ends without any."""
    signal.alarm(SECONDS)
    text = "".join(f"{line}\n" for line in lines)
    signal.alarm(0)
    sys.stdout.write(text)


def _of_words(
    app: typer.Typer, program: str, words: Sequence[str], *, with_prefix: bool = True
) -> Iterator[str]:
    found = _found(app, program, words[:-1], words[-1])
    prefix = found.prefix if with_prefix else ""
    for each in found.found:
        yield f"{prefix}{each.text}\t{each.description}".rstrip("\t")
    yield f":{_directive(found)}"


def _of_line(app: typer.Typer, program: str, request: Sequence[str]) -> Iterator[str]:
    """Yield the directive, then what replaces the part of the last word behind its last `=`, `:` or `@`."""
    line, part = request
    _, *words = split(line)
    *before, incomplete = words or [""]
    found = _found(app, program, before, incomplete)
    yield str(_directive(found))
    kept = len(incomplete) - len(part) if incomplete.endswith(part) else 0
    yield from (f"{found.prefix}{each.text}"[kept:] for each in found.found)


def split(line: str) -> list[str]:
    """Return the words of a shell's line; the last is the incomplete one, and empty behind a space."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words += lexer
    except ValueError:  # a quote that is still open
        return [*words, lexer.token]
    return [*words, ""] if line.endswith((" ", "\t")) and not line.endswith("\\ ") else words


def _found(app: typer.Typer, program: str, words: Sequence[str], incomplete: str) -> Candidates:
    try:
        return candidates(app, program, words, incomplete)
    except (Exception, SystemExit):  # noqa: BLE001 - a back end may fail with anything: nothing is offered then
        return Candidates()


def _directive(found: Candidates) -> int:
    return (_NO_SPACE if found.is_open else 0) | (0 if found.files else _NO_FILES)
