"""The blocks of a page that show a terminal, and a shell in which they are typed.

A block begins with ```console. A line that begins with `$ ` is typed, with the text of its here-document,
and with the next line where it ends in a backslash or a pipe. The lines below, up to the next `$ `, are its
output. A command without output below it must end with 0, and may write anything. A line that is `…` stands
for any lines, `…` in a line for any text.
"""

from __future__ import annotations

import getpass
import os
import re
import selectors
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

TYPING_TIMEOUT = 180.0
"""Seconds that one line may take."""
ANY_LINES = "…"
GOES_ON = ("\\", "|")
"""The ends of a line that the next one continues."""
SHELLS = ("console", "sh", "bash", "shell")
_COMMAND = re.compile(
    r" *(\$|buildah|docker|flux|git|helm|kubectl|make|minicluster|pip|python3?|sed|skopeo|\S*bin/\w+) "
)
_PARTS = re.compile(r"^#+ (.+)$|^ *```(\w*)\n((?s:.*?))^ *```", re.MULTILINE)
_HERE = re.compile(r"<<'(\w+)'")
_MASKS = (
    (re.compile(r"ƒ[0-9A-Za-z]+"), "ƒID"),
    (re.compile(r"\b[0-9a-hjkmnp-tv-z]{10}(?=  )"), "BURST"),
    (re.compile(r"(?<![\w.])(/[\w.@-]+)+"), "/PATH"),
    (re.compile(r"\b\d+(\.\d+)?(?= (ms|s|m|h|d)\b)"), "N"),
    (re.compile(r"\b(\d+[dhm])?\d+(\.\d+)?(ms|s|m|h|d)\b"), "Ns"),
    (re.compile(r"(\d+-\d\d-\d\dT)?\d\d:\d\d:\d\dZ?"), "TIME"),
    (re.compile(rf"\b{re.escape(getpass.getuser())}\b"), "you"),
    (re.compile(r" +"), " "),
)
_PROGRESS = re.compile(
    r"minicluster: ([\w-]+: (Pending|Starting|Resizing|Running|saving|waiting|\d+ jobs? saved)\b"
    r"|[\w-]+: no operator has looked at it yet|\d+ of \d+ brokers? ha(ve|s) joined"
    r"|waiting for \d+ running jobs?$|ƒ\w+: (waits for resources: |needs \d|behind ƒ))"
)
"""What waiting for a MiniCluster shows meanwhile: which of it is seen is chance."""
_TASK = re.compile(r"\d+: ")


@dataclass(frozen=True, slots=True)
class Typed:
    """A line, and what the page shows below it."""

    line: str
    """With its here-document and the lines that continue it."""
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page."""

    section: str
    """The heading above it."""
    typed: tuple[Typed, ...]

    @property
    def first(self) -> str:
        """The first line that is typed, by which the block is known."""
        return self.typed[0].line.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Fence:
    """What a page has between ``` and ```."""

    section: str
    """The heading above it."""
    language: str
    lines: list[str]

    @property
    def is_console(self) -> bool:
        """Whether it is a block of a terminal."""
        return self.language == "console"

    @property
    def holds_a_command(self) -> bool:
        """Whether it has something to type: by its language, a prompt, or how a line begins."""
        if self.language and self.language not in SHELLS:
            return any(line.lstrip().startswith("$ ") for line in self.lines)
        return bool(self.language) or any(_COMMAND.match(line) for line in self.lines)


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in its order."""
    return [Block(fence.section, tuple(_typed(fence.lines))) for fence in fences(text) if fence.is_console]


def _typed(lines: list[str]) -> Iterator[Typed]:
    rest = [line.rstrip() for line in lines]
    while rest:
        line = rest.pop(0).strip()
        if not line.startswith("$ "):
            message = f"a block begins with what it shows: {line}"
            raise ValueError(message)
        line = line.removeprefix("$ ")
        while line.endswith(GOES_ON):
            line += f"\n{rest.pop(0)}"
        here = _HERE.search(line)
        while here and not line.endswith(f"\n{here[1]}"):
            line += f"\n{rest.pop(0)}"
        shown = []
        while rest and not rest[0].lstrip().startswith("$ "):
            shown.append(rest.pop(0))
        yield Typed(line, tuple(shown))


def fences(text: str) -> list[Fence]:
    """Return all fenced blocks of a page, in its order."""
    found = []
    section = ""
    for heading, language, body in _PARTS.findall(text):
        if heading:
            section = heading
        else:
            found.append(Fence(section, language, body.splitlines()))
    return found


def differs(shown: tuple[str, ...], real: str) -> bool:
    """Whether a line shows something else than the page has; ids, times and paths apart."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANY_LINES else _as_pattern(line) + "\n" for line in _in_order(shown)
    )
    text = "".join(f"{line}\n" for line in _in_order(tuple(real.splitlines())))
    return re.fullmatch(pattern, text) is None


def _as_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split(ANY_LINES))


def _in_order(lines: tuple[str, ...]) -> list[str]:
    """Mask lines, and sort those of tasks that follow each other: which task is first is chance."""
    found: list[str] = []
    tasks: list[str] = []
    for line in (_masked(line) for line in lines if not _PROGRESS.match(line)):
        if _TASK.match(line):
            tasks.append(line)
            continue
        found += [*sorted(tasks), line]
        tasks = []
    return found + sorted(tasks)


def _masked(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.rstrip()


class Shell:
    """A shell in which lines are typed one after the other; background jobs live as long as it does."""

    def __init__(self, directory: Path, environment: Mapping[str, str], given: str = "") -> None:
        """Start it; `given` is what each line finds on its standard input."""
        self._outputs = directory / ".typed"
        self._outputs.mkdir()
        self._given = self._outputs / "given"
        self._given.write_text(given)
        self._number = 0
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-m"],
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def type(self, line: str) -> tuple[int, str]:
        """Type a line; return its exit code, and what it showed. Raises TimeoutError."""
        self._number += 1
        output = self._outputs / str(self._number)
        text = f"{{ {line}\n}} <'{self._given}' >'{output}' 2>&1; echo $?\n"
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()
        code = self._answer(line, output)
        return code, output.read_text(errors="replace")

    def _answer(self, line: str, output: Path) -> int:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(TYPING_TIMEOUT):
                message = (
                    f"$ {line}\nhas not ended after {TYPING_TIMEOUT:g} s; it showed\n{output.read_text()}"
                )
                raise TimeoutError(message)
        return int(self._process.stdout.readline())

    def end(self) -> None:
        """End it, with what it has begun."""
        found = subprocess.run(
            ["ps", "-o", "pid=", "--sid", str(self._process.pid)], capture_output=True, text=True, check=False
        )
        for pid in map(int, found.stdout.split()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.communicate()


def type_all(shell: Shell, typed: list[Block]) -> list[str]:
    """Type blocks; return what is not as the page has it, a text for each line."""
    wrong = []
    for each in (each for block in typed for each in block.typed):
        code, real = shell.type(each.line)
        if (each.shown and differs(each.shown, real)) or (code and not each.shown):
            page = "".join(f"{line}\n" for line in each.shown)
            wrong.append(f"$ {each.line}\n[{code}] it shows\n{real}\nthe page has\n{page}")
    return wrong
