"""`flux queue list|status|enable|disable|start|stop|drain|idle`."""

from __future__ import annotations

import argparse
import errno
from typing import TYPE_CHECKING

from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands.console import Parser, fail, seconds
from minicluster.embedded.commands.named_formats import chosen
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LIMITS = ("nnodes", "ncores", "ngpus")
HEADINGS = headings(
    "queue queuem=QUEUE enabled=EN started=ST "
    "defaults.timelimit=TDEFAULT limits.timelimit=TLIMIT limits.range.effective.nnodes=NNODES "
    "limits.range.effective.ncores=NCORES limits.range.effective.ngpus=NGPUS"
)
_FORM = (
    "?:{queuem:<8.8} {enabled:>2} {started:>2} "
    "{defaults.timelimit!F:>8} {limits.timelimit!F:>8} {limits.range.effective.nnodes:>10} "
    "{limits.range.effective.ncores:>10} {limits.range.effective.ngpus:>10}"
)
FORMATS = {"default": ("Default flux-queue list format string", _FORM)}


def main(argv: list[str]) -> int:
    """Run `flux queue COMMAND …`."""
    options = _parser().parse_args(argv[1:])
    run: Callable[[Client, argparse.Namespace], None] = options.run
    with Client() as client:
        try:
            run(client, options)
        except RpcError as error:
            reason = "timeout" if error.errnum == errno.ETIMEDOUT else str(error)
            fail(f"{options.subcommand}: {reason}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-queue")
    # Every subcommand's parser is a plain one: Parser takes its name first.
    commands = parser.add_subparsers(
        required=True, dest="subcommand", metavar="subcommand", parser_class=argparse.ArgumentParser
    )
    one = commands.add_parser("list", help="list queues and their limits")
    one.add_argument(
        "-q", "--queue", action="append", default=[], metavar="QUEUE,...", help="only these queues"
    )
    one.add_argument(
        "-o", "--format", default="default", metavar="FORMAT", help="format string or name of one"
    )
    one.add_argument("-n", "--no-header", action="store_true", help="no header line")
    one.set_defaults(run=_list)
    for name, run in (
        ("status", _status),
        ("enable", _set),
        ("disable", _set),
        ("start", _set),
        ("stop", _set),
    ):
        one = commands.add_parser(name, help=f"{name} of queues" if name == "status" else f"{name} queues")
        one.add_argument("queue", metavar="QUEUE", nargs="?", help="one queue")
        one.add_argument("-v", "--verbose", action="store_true", help="say more")
        one.set_defaults(run=run)
        if name != "status":
            one.add_argument("-a", "--all", action="store_true", help="all queues")
            one.add_argument("--quiet", action="store_true", help="errors only")
        if name in ("disable", "stop"):
            one.add_argument("-m", "--message", metavar="REASON", help="the reason")
            one.add_argument("--nocheckpoint", action="store_true", help="forget it at the next restart")
    for name, run in (("drain", _drain), ("idle", _idle)):
        one = commands.add_parser(name, help=f"wait until queues are {'empty' if name == 'drain' else name}")
        one.add_argument("-t", "--timeout", metavar="DURATION", help="give up after DURATION")
        one.set_defaults(run=run)
    return parser


def _names(client: Client) -> list[str]:
    return sorted(client.rpc("job-manager.queue-list")["queues"])


def _meant(name: str | None, names: list[str]) -> Sequence[str | None]:
    """The queues a command is about; the one without a name is None."""
    return [name] if name else names or [None]


def _ask(client: Client, name: str | None) -> JSON:
    return client.rpc("job-manager.queue-status", {"name": name} if name else {})


def _status(client: Client, options: argparse.Namespace) -> None:
    for name in _meant(options.queue, _names(client)):
        answer = _ask(client, name)
        _print_state(name, answer, "enable")
        _print_state(name, answer, "start")
    if options.verbose:
        states = client.rpc("job-list.job-stats")["job_states"]
        print(f"{states['sched']} alloc requests queued\n0 alloc requests pending to scheduler")
        print(f"{states['run']} running jobs")


def _print_state(name: str | None, answer: JSON, what: str) -> None:
    yes, no, text = {
        "enable": ("Job submission is enabled", "Job submission is disabled", "disable_reason"),
        "start": ("Scheduling is started", "Scheduling is stopped", "stop_reason"),
    }[what]
    reason = f": {answer[text]}" if not answer[what] and answer.get(text) else ""
    print((f"{name}: " if name else "") + (yes if answer[what] else no) + reason)


def _set(client: Client, options: argparse.Namespace) -> None:
    """Enable, disable, start, stop: then say how it is now."""
    names = _names(client)
    if names and not options.queue and not options.all:
        fail("Named queues are defined. Specify queues or use --all.")
    what = "enable" if options.subcommand in ("enable", "disable") else "start"
    payload: JSON = {what: options.subcommand == what, "all": options.all}
    if options.queue:
        payload["name"] = options.queue
    if not payload[what]:
        default = "disabled by administrator" if what == "enable" else None
        payload |= {"reason": options.message or default} if options.message or default else {}
        payload |= {"nocheckpoint": True} if options.nocheckpoint else {}
    client.rpc(f"job-manager.queue-{what}", payload)
    if not options.quiet:
        for name in _meant(options.queue, names):
            _print_state(name, _ask(client, name), what)


def _limit(options: argparse.Namespace) -> float | None:
    try:
        return seconds(options.timeout) if options.timeout else None
    except ValueError as error:
        fail(str(error))


def _drain(client: Client, options: argparse.Namespace) -> None:
    client.rpc("job-manager.drain", {}, timeout=_limit(options))


def _idle(client: Client, options: argparse.Namespace) -> None:
    pending = client.rpc("job-manager.idle", {}, timeout=_limit(options))["pending"]
    print(f"{pending} jobs")


def _list(client: Client, options: argparse.Namespace) -> None:
    layout = chosen("queue", options.format, FORMATS, HEADINGS, lambda row, name: row[name])
    if layout is None:
        return
    wanted = ",".join(options.queue).split(",") if options.queue else []
    names = _names(client)
    for name in wanted:
        if name not in names:
            fail(f"No such queue: {name}")
    config = _configuration(client)
    ranges = _ranges(client)
    rows = [_row(name, _ask(client, name), config, ranges) for name in wanted or _meant(None, names)]
    print("\n".join(layout.table(rows, header=not options.no_header)))


def _configuration(client: Client) -> JSON:
    try:
        return client.rpc("config.get")
    except RpcError:
        return {}


def _ranges(client: Client) -> JSON:
    """What a job may ask for: up to everything there is."""
    from minicluster.embedded.commands.resource import counted, nodes  # noqa: PLC0415 - only this listing counts

    counts = counted(nodes(client.rpc("sched.resource-status")["all"]))
    return {
        f"limits.range.effective.{name}": f"0-{count}" for name, count in zip(_LIMITS, counts, strict=True)
    }


def _row(name: str | None, answer: JSON, config: JSON, ranges: JSON) -> JSON:
    system = config.get("policy", {}).get("jobspec", {}).get("defaults", {}).get("system", {})
    default = name is not None and system.get("queue") == name
    duration = system.get("duration", float("inf"))
    return {
        "queue": name or "",
        "queuem": f"{name or ''}{'*' if default else ''}",
        "enabled": "✔" if answer["enable"] else "✗",
        "started": "✔" if answer["start"] else "✗",
        "defaults.timelimit": seconds(duration) if isinstance(duration, str) else duration,
        "limits.timelimit": float("inf"),
        **ranges,
    }
