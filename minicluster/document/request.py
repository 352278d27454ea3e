"""A document made from a command line: for `minicluster init`, and for runs without a document."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING

from minicluster.document.errors import UnwritableCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGE = "ubuntu:24.04"
"""Of a document for which no other is asked: on this machine images are not used."""
GPU = "nvidia.com/gpu"
_UNPRINTABLE = re.compile(r"[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
"""What YAML's reader refuses, or takes for the end of a line."""
_INTERPRETER = re.compile(r"(python|pypy|perl|ruby|lua|julia|rscript|node|bash|dash|zsh|sh)[\d.]*")
"""A program that is given another one, which is a better name."""
_WITHOUT_VALUE = re.compile(r"-[BEIOSsu]+")
"""Options of Python without a value."""
_COMMENT_COLUMN = 28
_NAME_LENGTH = 20
"""Characters of a name made of a program's: hosts' names and a directory are made from it."""


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """What a document is to be made from."""

    command: tuple[str, ...] = ()
    """A program with its arguments; empty: the cluster stays up for jobs sent to it."""
    name: str = ""
    """Empty: the program's name."""
    size: int = 1
    max_size: int = 0
    """0: as many brokers as `size`."""
    tasks: int = 0
    """0: one a broker."""
    cores_per_task: int = 0
    """0: one."""
    gpus_per_task: int = 0
    profile: str = ""
    """What its tasks use most; empty: that is not known."""
    image: str = IMAGE
    """Empty: none is named, which a document with a command may do on this machine."""
    words: str = ""
    """The command line that made it, for the first comment."""

    @property
    def tasks_of_broker(self) -> int:
        """The most tasks that one broker has."""
        return -(-(self.tasks or self.size) // self.size)

    @property
    def options(self) -> str:
        """The options of the job that runs the command."""
        given = {"-c": self.cores_per_task, "-g": self.gpus_per_task}
        return " ".join(f"{option} {number}" for option, number in given.items() if number)

    @property
    def limits(self) -> dict[str, int]:
        """What a broker needs for its tasks; empty where one core is enough."""
        cores = self.tasks_of_broker * (self.cores_per_task or 1)
        limits = {"cpu": cores if cores > 1 else 0, GPU: self.tasks_of_broker * self.gpus_per_task}
        return {resource: number for resource, number in limits.items() if number}


def text(asked: DocumentRequest) -> str:
    """Return the text of a document. Raises UnwritableCommand for a command that is not UTF-8."""
    found = "\n".join([*_head(asked), *_spec(asked), *_container(asked), ""])
    try:
        found.encode()
    except UnicodeEncodeError as error:
        raise UnwritableCommand("the command is not UTF-8, which a document must be") from error
    return found


def name_of(command: tuple[str, ...]) -> str:
    """Return the name of a MiniCluster for a program: `a-out` of ./a.out, `train` of python train.py."""
    program = command[0].rpartition("/")[2].lower() if command else ""
    if _INTERPRETER.fullmatch(program):
        behind = dropwhile(_WITHOUT_VALUE.fullmatch, command[1:])
        script = next(behind, "").rpartition("/")[2].lower()
        program = program if script.startswith("-") else script.partition(".")[0] or program
    name = re.sub(r"[^a-z0-9]+", "-", program).strip("-")[:_NAME_LENGTH].strip("-")
    return name if re.match("[a-z]", name) else "minicluster"


def _head(asked: DocumentRequest) -> Iterator[str]:
    if asked.words:
        yield f"# Made by: {asked.words}"
    yield "# `minicluster explain spec` has all fields, `minicluster validate FILE` checks them."
    yield "apiVersion: flux-framework.org/v1alpha2"
    yield "kind: MiniCluster"
    yield "metadata:"
    yield f"  name: {_quoted(asked.name or name_of(asked.command))}"  # YAML reads true as no text


def _spec(asked: DocumentRequest) -> Iterator[str]:
    yield "spec:"
    yield _line(f"  size: {asked.size}", "brokers: pods on Kubernetes, processes on this machine")
    if asked.max_size:
        yield _line(f"  maxSize: {asked.max_size}", "to which `minicluster scale` may grow it")
    if asked.command:
        yield _line(f"  tasks: {asked.tasks or asked.size}", "of the command, over all brokers")
    else:
        yield _line("  interactive: true", "it stays up, for jobs sent by `minicluster submit`")
    if asked.profile:
        yield _line(f"  profile: {_quoted(asked.profile)}", "what the main job uses most, for placements")
    if asked.options:
        yield "  flux:"
        yield _line(f"    optionFlags: {asked.options}", "for each task of the command: cores, GPUs")


def _container(asked: DocumentRequest) -> Iterator[str]:
    yield "  containers:"
    first, *others = _fields(asked)
    yield f"    - {first}"
    yield from (f"      {line}" for line in others)


def _fields(asked: DocumentRequest) -> Iterator[str]:
    if asked.image:
        yield _line(f"image: {_quoted(asked.image)}", "not used on this machine", _COMMENT_COLUMN - 6)
    if asked.command:
        yield f"command: {_quoted(shlex.join(asked.command))}"
    if asked.limits:
        yield "resources:"
        yield _line("  limits:", "of each broker: room for its tasks", _COMMENT_COLUMN - 6)
        yield from (f"    {resource}: {number}" for resource, number in asked.limits.items())


def _quoted(text: str) -> str:
    """Return a text as YAML has it between double quotes: as JSON, without what only JSON allows there."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _line(text: str, comment: str, column: int = _COMMENT_COLUMN) -> str:
    return f"{text:<{column}}# {comment}"
