"""The options that submit, bulksubmit, run, batch and alloc share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from minicluster.embedded.commands.console import Parser, fail

if TYPE_CHECKING:
    from collections.abc import Mapping

URGENCY = {"hold": 0, "default": 16, "expedite": 31}


def parser(command: str, operands: str = "COMMAND [ARGS...]") -> Parser:
    """Return a parser of the options every submitting command takes."""
    options = Parser(f"flux {command}", usage=f"flux {command} [OPTIONS...] {operands}")
    options.add_argument("command", nargs=argparse.REMAINDER, help="command and arguments")
    text = options.add_argument
    text("-q", "--queue", metavar="NAME", help="submit to this queue")
    text("-t", "--time-limit", metavar="MIN|FSD", help="time limit in minutes, or with a unit: 30s, 1.5h")
    text("--urgency", metavar="N", default="16", help="urgency 0-31: hold=0, default=16, expedite=31")
    text("--job-name", metavar="NAME", help="name of the job")
    text("--input", metavar="FILENAME", help="standard input of the tasks")
    text("--output", metavar="FILENAME", help="file for standard output; {{id}} and {{taskid}} are replaced")
    text("--error", metavar="FILENAME", help="file for standard error")
    text("--cwd", metavar="DIRECTORY", help="working directory of the tasks")
    text("--flags", metavar="FLAGS", default="", help="debug, waitable, novalidate")
    text("-v", "--verbose", action="count", default=0, help="say more, on standard error")
    options.flag("-l", "--label-io", help="put the task's rank before each line")
    options.flag("--dry-run", help="print the jobspec, submit nothing")
    options.flag("--quiet", help="do not print the job id")
    for names, metavar, what in (
        (("-o", "--setopt"), "OPT", "shell option NAME[=VALUE]"),
        (("-S", "--setattr"), "ATTR", "job attribute NAME[=VALUE]"),
        (("--dependency",), "URI", "afterok:ID, afterany:ID, afternotok:ID (RFC 26)"),
        (("--requires",), "CONSTRAINT", "constraint on nodes (RFC 35)"),
        (("--env",), "RULE", "NAME=VALUE, PATTERN or -PATTERN"),
    ):
        text(*names, metavar=metavar, action="append", default=[], help=what)
    remove = "the same as --env=-PATTERN"
    text("--env-remove", metavar="PATTERN", type="-{}".format, action="append", dest="env", help=remove)
    begin = "not before: +1h, 15:30, 3pm, tomorrow 9:00, 2031-01-02 18:00"
    text("--begin-time", metavar="+FSD|TIME", type=_begin, action="append", dest="dependency", help=begin)
    _resources(options, "slots" if command in ("batch", "alloc") else "tasks")
    return options


def _begin(text: str) -> str:
    from minicluster.embedded.commands import datetimes  # noqa: PLC0415 - seldom needed

    return f"begin-time:{datetimes.wanted(text)}"


def _resources(options: Parser, unit: str) -> None:
    flags: dict[str, str] = {}

    def number(short: str, long: str, what: str, dest: str = "") -> None:
        names = [name for name in (short, f"--{long}") if name]
        dest = dest or long.replace("-", "_")
        flags[dest] = f"--{long}"
        options.add_argument(*names, metavar="N", dest=dest, help=what)

    each = unit.removesuffix("s")
    number("-N", "nodes", "nodes to allocate")
    number("-n", f"n{unit}", f"number of {unit}", dest="ntasks")
    number("-c", f"cores-per-{each}", f"cores of each {each}", dest="cores_per_task")
    number("-g", f"gpus-per-{each}", f"GPUs of each {each}", dest="gpus_per_task")
    options.flag("-x", "--exclusive", help="with --nodes: whole nodes")
    options.set_defaults(cores=None, tasks_per_node=None, tasks_per_core=None, counts=flags)
    if unit == "tasks":
        number("", "cores", "cores in all")
        number("", "tasks-per-node", "tasks on each node")
        number("", "tasks-per-core", "tasks on each core")


def counted(options: argparse.Namespace) -> argparse.Namespace:
    """Return a copy of the options with counts as numbers, which are texts for `replacements` before."""
    flags: Mapping[str, str] = options.counts
    given = {name: getattr(options, name) for name in flags}
    numbers = {name: _count(flags[name], value) for name, value in given.items() if value is not None}
    return argparse.Namespace(**{**vars(options), **numbers})


def _count(flag: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        fail(f"{flag}: invalid int value '{text}'")


def flags(options: argparse.Namespace) -> int:
    """Return the submission flags as the job manager's bits."""
    names = list(filter(None, options.flags.split(",")))
    if not names:
        return 0
    from broker_config.formats.job_states import JobFlag  # noqa: PLC0415 - few submissions have flags

    bits = 0
    for name in names:
        flag = JobFlag.__members__.get(name.upper())
        if flag is None or not name.islower():
            fail(f"--flags: Unknown flag '{name}'")
        bits |= flag
    return bits


def urgency(options: argparse.Namespace) -> int:
    """Return the urgency as a number; the broker checks its range."""
    word = options.urgency.lower()
    try:
        return URGENCY[word] if word in URGENCY else int(word)
    except ValueError:
        fail(f"--urgency: invalid int value '{options.urgency}'")
