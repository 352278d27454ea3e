"""The options that submit, run, batch and alloc share, and the ids that `--cc` and `--bcc` name."""

from __future__ import annotations

import argparse
import functools
import re
from typing import Any

from minicluster.embedded.commands.console import Parser, fail

_BRACES = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
_FLAGS = {"debug": 2, "waitable": 4, "novalidate": 8}
_URGENCY = {"hold": 0, "default": 16, "expedite": 31}


def parser(command: str, operands: str = "COMMAND [ARGS...]") -> Parser:
    """Return a parser of the options every submitting command takes."""
    options = Parser(f"flux {command}", usage=f"flux {command} [OPTIONS...] {operands}")
    options.add_argument("command", nargs=argparse.REMAINDER, help="command and arguments")
    text = options.add_argument
    text("-B", "--bank", metavar="BANK", help="charge the job to this bank")
    text("-q", "--queue", metavar="NAME", help="submit to this queue")
    text("-t", "--time-limit", metavar="MIN|FSD", help="time limit in minutes, or with a unit: 30s, 1.5h")
    text("--urgency", metavar="N", default="16", help="urgency 0-31: hold=0, default=16, expedite=31")
    text("--job-name", metavar="NAME", help="name of the job")
    text("--input", metavar="FILENAME", help="standard input of the tasks")
    text("--output", metavar="FILENAME", help="file for standard output; {{id}} and {{taskid}} are replaced")
    text("--error", metavar="FILENAME", help="file for standard error")
    text("-l", "--label-io", action="store_true", help="put the task's rank before each line")
    text("-u", "--unbuffered", action="store_true", help="do not buffer output")
    text("--cwd", metavar="DIRECTORY", help="working directory of the tasks")
    text("--flags", metavar="FLAGS", default=[], action="append", help="debug, waitable, novalidate")
    text("--dry-run", action="store_true", help="print the jobspec, submit nothing")
    text("--quiet", action="store_true", help="do not print the job id")
    text("-v", "--verbose", action="count", default=0, help="say more, on standard error")
    text(
        "--begin-time", metavar="+FSD|TIME", help="do not start before: +DURATION, or seconds since the epoch"
    )
    _repeatable(options)
    _resources(options, "slots" if command in ("batch", "alloc") else "tasks")
    return options


def _repeatable(options: Parser) -> None:
    def many(*flags: str, **settings: Any) -> None:
        options.add_argument(*flags, action="append", default=[], **settings)

    many("-o", "--setopt", metavar="OPT", help="shell option NAME[=VALUE]")
    many("-S", "--setattr", metavar="ATTR", help="job attribute NAME[=VALUE]")
    many("--add-file", metavar="[NAME=]PATH", help="file to put into the job's {{tmpdir}}")
    many("--dependency", metavar="URI", help="afterok:ID, afterany:ID, afternotok:ID … (RFC 26)")
    many("--requires", metavar="CONSTRAINT", help="constraint on nodes (RFC 35)")
    rule = options.add_argument
    rule("--env", metavar="RULE", action="append", default=[], help="NAME=VALUE, PATTERN, -PATTERN or ^FILE")
    for name, sign, what in (("remove", "-", "PATTERN"), ("file", "^", "FILE")):
        prefixed = functools.partial(str.__add__, sign)
        rule(
            f"--env-{name}",
            metavar=what,
            action="append",
            dest="env",
            type=prefixed,
            help=f"--env={sign}{what}",
        )


def _resources(options: Parser, unit: str) -> None:
    number = options.add_argument
    number("-N", "--nodes", metavar="N", help="nodes to allocate")
    number("-x", "--exclusive", action="store_true", help="with --nodes: whole nodes")
    each = unit.removesuffix("s")
    number("-n", f"--n{unit}", dest="ntasks", metavar="N", help=f"number of {unit}")
    number("-c", f"--cores-per-{each}", dest="cores_per_task", metavar="N", help=f"cores of each {each}")
    number("-g", f"--gpus-per-{each}", dest="gpus_per_task", metavar="N", help=f"GPUs of each {each}")
    options.set_defaults(
        cores=None, tasks_per_node=None, tasks_per_core=None, gpus_per_node=None, per_slot=each == "slot"
    )
    spelling = {
        "ntasks": f"n{unit}",
        "cores_per_task": f"cores-per-{each}",
        "gpus_per_task": f"gpus-per-{each}",
    }
    options.set_defaults(spelling=spelling)
    if unit == "tasks":
        number("--cores", metavar="N", help="cores in all")
        number("--tasks-per-node", metavar="N", help="tasks on each node")
        number("--tasks-per-core", metavar="N", help="tasks on each core")
        number("--gpus-per-node", metavar="N", help="with --nodes: GPUs of each node")


def flags(options: argparse.Namespace) -> int:
    """The submission flags as the job manager's bits."""
    bits = 0
    for name in ",".join(options.flags).split(","):
        if name and name not in _FLAGS:
            fail(f"--flags: Unknown flag '{name}'")
        bits |= _FLAGS.get(name, 0)
    return bits


def urgency(options: argparse.Namespace) -> int:
    """The urgency as a number; the broker checks its range."""
    word = options.urgency.lower()
    try:
        return _URGENCY[word] if word in _URGENCY else int(word)
    except ValueError:
        fail(f"--urgency: invalid int value '{options.urgency}'")


def replaced(options: argparse.Namespace, number: int) -> argparse.Namespace:
    """A copy of the options with {cc} replaced; {{…}} stays for the job's own templates."""
    copy = argparse.Namespace(**vars(options))
    for name, value in vars(options).items():
        if isinstance(value, str) and "{" in value:
            setattr(copy, name, _replaced(value, number, name))
        elif isinstance(value, list) and name != "command":
            setattr(copy, name, [_replaced(word, number, name) for word in value])
    copy.command = [_replaced(word, number, "command") for word in options.command]
    return copy


def _replaced(text: str, number: int, where: str) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1] == "cc":
            return str(number)
        if where == "command":
            fail(f"Invalid replacement string in command: '{text}'")
        return found[0]

    return _BRACES.sub(replacement, text) if "{" in text else text
