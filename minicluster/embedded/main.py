"""`flux COMMAND …`: finds the one module of the command and runs its `main(argv) -> exit code`."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

from minicluster.embedded.errors import EmbeddedError

_COMMANDS = {
    "alloc": ("commands.batch", "get a sub-instance on its own allocation"),
    "batch": ("commands.batch", "submit a script that runs in its own sub-instance"),
    "broker": ("broker.broker", "run a broker"),
    "bulksubmit": ("commands.bulksubmit", "submit a job for each of many inputs"),
    "cancel": ("commands.cancel", "cancel jobs"),
    "dump": ("commands.saving", "save the jobs of the instance to a file"),
    "getattr": ("commands.attributes", "show a broker attribute"),
    "job": ("commands.job", "attach to, inspect and steer jobs"),
    "jobs": ("commands.jobs", "list jobs"),
    "keygen": ("commands.keygen", "make the certificate of an instance"),
    "overlay": ("commands.overlay", "show how the brokers are connected"),
    "pgrep": ("commands.pgrep", "find jobs by name or id"),
    "pkill": ("commands.pgrep", "cancel jobs by name or id"),
    "queue": ("commands.queue", "list, start, stop and drain queues"),
    "R": ("commands.resource_set", "make and read resource sets (RFC 20)"),
    "resource": ("commands.resource", "list, drain and undrain resources"),
    "run": ("commands.submit", "run a job and show its output"),
    "shutdown": ("commands.saving", "end the instance"),
    "start": ("broker.start", "start an instance on this machine"),
    "submit": ("commands.submit", "submit jobs"),
    "update": ("commands.update", "change the queue or the time limit of a job"),
    "uptime": ("commands.uptime", "show how long the instance has been up"),
    "version": ("commands.version", "show the version"),
    "watch": ("commands.watch", "show the output of jobs"),
}
# For this project's own use; real Flux has no such commands, and `flux --help` does not show them.
_HIDDEN = {
    "minicluster-fence": "embedded_lead.fence_command",
    "minicluster-relay": "embedded_lead.relay",
    "minicluster-saving": "embedded_lead.save_command",
}
# What real Flux has besides.
_ABSENT = (
    "admin archive config content cron dmesg env event exec fortune fsck gc hostlist housekeeping imp "
    "jobtap kvs logger lsattr modprobe module multi-prog perilog-run ping pmi post-job-event proxy pstree "
    "python relay restore setattr shell sproc startlog terminus top uri"
)


GARBAGE = 10_000
"""New objects between two garbage collections: hardly any is in a cycle, and needs one to be freed."""


def main(argv: list[str] | None = None) -> int:
    """Run `flux` with `argv` (without the program's name); returns the exit code."""
    gc.set_threshold(GARBAGE)
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        # Flux writes UTF-8 in every locale, and passes bytes that are not UTF-8 unchanged.
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [arguments[1].removeprefix("flux-"), *arguments[2:], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if arguments else 1
    name = "version" if arguments[0] in ("-V", "--version") else arguments[0]
    if name not in _COMMANDS and name not in _HIDDEN:
        return _unknown(name)
    return _run(name, arguments[1:])


def _run(name: str, arguments: list[str]) -> int:
    module_name = _HIDDEN.get(name) or f"embedded.{_COMMANDS[name][0]}"
    try:
        module = importlib.import_module(f"minicluster.{module_name}")
        if module_name.startswith("embedded.commands."):
            return _reported(name, module, arguments)
        return int(module.main(arguments))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away: no message, and none from the interpreter's own flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _reported(name: str, module: Any, arguments: list[str]) -> int:
    """Run a client's command; report its errors as a message and an exit code."""
    from minicluster.embedded.commands.console import CommandError, note  # noqa: PLC0415 - brokers start light

    try:
        code = int(module.main([name, *arguments]))
        sys.stdout.flush()
    except (EmbeddedError, CommandError) as error:
        prefix = getattr(module, "PREFIX", "flux-{name}: ERROR: ").format(name=name)
        if text := str(error):
            note(prefix + text)
        return getattr(error, "code", 1)
    return code


def _unknown(name: str) -> int:
    if name in _ABSENT.split():
        sys.stderr.write(f"flux: `{name}' is not in the embedded instance\n")
        return 2
    sys.stderr.write(f"flux: `{name}' is not a flux command.  See 'flux --help'\n")
    return 1


def _usage() -> str:
    listed = "\n".join(f"   {name:<10} {purpose}" for name, (_module, purpose) in _COMMANDS.items())
    more = "See 'flux help COMMAND' for more information about a specific command."
    return f"Usage: flux COMMAND ARGS\nThe commands of the embedded instance:\n{listed}\n{more}"


if __name__ == "__main__":
    raise SystemExit(main())
