"""`flux queue list|status|start|stop|drain|idle`."""

from __future__ import annotations

import argparse
import errno
from typing import TYPE_CHECKING

from broker_config.formats import resource_set
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import named_formats
from minicluster.embedded.commands.configured_queues import ConfiguredQueues
from minicluster.embedded.commands.console import Parser, fail, limit
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_config.formats.resource_set import Node

_LIMITS = ("nnodes", "ncores", "ngpus")
_HEADINGS = headings(
    "queue queuem=QUEUE enabled=EN started=ST "
    "defaults.timelimit=TDEFAULT limits.timelimit=TLIMIT limits.range.effective.nnodes=NNODES "
    "limits.range.effective.ncores=NCORES limits.range.effective.ngpus=NGPUS"
)
_FORMATS = {
    "default": "?:{queuem:<8.8} {enabled:>2} {started:>2} "
    "{defaults.timelimit!F:>8} {limits.timelimit!F:>8} {limits.range.effective.nnodes:>10} "
    "{limits.range.effective.ncores:>10} {limits.range.effective.ngpus:>10}"
}
_STATES = {
    "enable": ("Job submission is enabled", "Job submission is disabled"),
    "start": ("Scheduling is started", "Scheduling is stopped"),
}


def main(argv: list[str]) -> int:
    """Run `flux queue COMMAND …`."""
    options = _parser().parse_args(argv[1:])
    with BrokerClient() as client:
        try:
            options.run(client, options)
        except RpcError as error:
            reason = "timeout" if error.errnum == errno.ETIMEDOUT else str(error)
            action = "start" if options.subcommand == "stop" else options.subcommand  # as Flux names it
            fail(f"{action}: {reason}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-queue")
    # Every subcommand's parser is a plain one: Parser takes its name first.
    commands = parser.add_subparsers(
        required=True, dest="subcommand", metavar="subcommand", parser_class=argparse.ArgumentParser
    )
    one = commands.add_parser("list", help="list queues and their limits")
    named_formats.add_options(one)
    one.set_defaults(run=_list)
    for name, run in (("status", _status), ("start", _set), ("stop", _set)):
        one = commands.add_parser(name, help=f"{name} queues")
        one.add_argument("queue", metavar="QUEUE", nargs="?", help="one queue")
        one.add_argument("-q", "--queue", dest="named", metavar="QUEUE", help="the same as an option")
        one.add_argument("-v", "--verbose", action="store_true", help="say more")
        one.add_argument("-a", "--all", action="store_true", help="all queues")
        one.add_argument("--quiet", action="store_true", help="errors only")
        one.add_argument("-m", "--message", metavar="REASON", help="the reason of a stop")
        one.set_defaults(run=run)
    for name, run in (("drain", _drain), ("idle", _idle)):
        one = commands.add_parser(name, help=f"wait until queues are {'empty' if name == 'drain' else name}")
        one.add_argument("-t", "--timeout", metavar="DURATION", help="give up after DURATION")
        one.add_argument("--quiet", action="store_true", help="accepted, as Flux does")
        one.set_defaults(run=run)
    return parser


def _names(client: BrokerClient) -> list[str]:
    names: list[str] = client.rpc("job-manager.queue-list")["queues"]
    return names


def _meant(name: str | None, names: list[str]) -> Sequence[str | None]:
    """Return the queues that a command applies to; None is the anonymous queue."""
    return [name] if name else names or [None]


def _ask(client: BrokerClient, name: str | None) -> JSON:
    return client.rpc("job-manager.queue-status", {"name": name} if name else {})


def _status(client: BrokerClient, options: argparse.Namespace) -> None:
    for name in _meant(options.named or options.queue, _names(client)):
        answer = _ask(client, name)
        _print_state(name, answer, "enable")
        _print_state(name, answer, "start")
    if options.verbose:
        states = client.rpc("job-list.job-stats")["job_states"]
        print(f"{states['sched']} alloc requests queued\n0 alloc requests pending to scheduler")
        print(f"{states['run']} running jobs")


def _print_state(name: str | None, answer: JSON, what: str) -> None:
    reason = f": {answer['stop_reason']}" if what == "start" and answer.get("stop_reason") else ""
    print((f"{name}: " if name else "") + _STATES[what][not answer[what]] + reason)


def _set(client: BrokerClient, options: argparse.Namespace) -> None:
    """Start or stop queues, then print their state."""
    names, queue = _names(client), options.named or options.queue
    if names and not queue and not options.all:
        fail("Named queues are defined. Specify queues or use --all.")
    payload: JSON = {"start": options.subcommand == "start", "all": options.all}
    payload |= {"name": queue} if queue else {}
    payload |= {"reason": options.message} if options.message else {}
    client.rpc("job-manager.queue-start", payload)
    if not options.quiet:
        for name in _meant(queue, names):
            _print_state(name, _ask(client, name), "start")


def _drain(client: BrokerClient, options: argparse.Namespace) -> None:
    client.rpc("job-manager.drain", {}, timeout=limit(options.timeout))


def _idle(client: BrokerClient, options: argparse.Namespace) -> None:
    pending = client.rpc("job-manager.idle", {}, timeout=limit(options.timeout))["pending"]
    print(f"{pending} jobs")


def _list(client: BrokerClient, options: argparse.Namespace) -> None:
    layout = named_formats.chosen(options, _FORMATS, _HEADINGS)
    everything = resource_set.nodes_of(client.rpc("resource.sched-status")["all"])
    queues = ConfiguredQueues.of(client)
    rows = [
        _row(name, _ask(client, name), queues.nodes(name, everything), is_default=name == queues.default)
        for name in _meant(None, queues.names)
    ]
    named_formats.show(layout, rows, options)


def _row(name: str | None, answer: JSON, nodes: Sequence[Node], *, is_default: bool) -> JSON:
    unlimited = float("inf")
    counts = zip(_LIMITS, resource_set.counts(nodes), strict=True)
    # A job may ask for everything there is.
    ranges = {f"limits.range.effective.{name}": f"0-{count}" for name, count in counts}
    return {
        "queue": name or "",
        "queuem": f"{name}*" if name and is_default else name or "",
        "enabled": "✔" if answer["enable"] else "✗",
        "started": "✔" if answer["start"] else "✗",
        "defaults.timelimit": unlimited,
        "limits.timelimit": unlimited,
        **ranges,
    }
