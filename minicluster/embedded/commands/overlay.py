"""`flux overlay status`."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands.console import Parser, absent, fail, seconds

if TYPE_CHECKING:
    import argparse

PREFIX = "flux-overlay: "
_STATES = ("full", "partial", "offline", "degraded", "lost")
_POLL = 0.05


def main(argv: list[str]) -> int:
    """Run `flux overlay status`."""
    if argv[1:2] != ["status"]:
        absent(argv[1:])
    options = _parser().parse_args(argv[2:])
    if options.wait and options.wait not in _STATES:
        fail(f"invalid --wait state: {options.wait}")
    try:
        limit = seconds(options.timeout)
        with Client() as client:
            health = _awaited(client, options, limit)
            hosts = _hosts(client)
    except ValueError as error:
        fail(f"invalid timeout: {error}")
    print(health["status"] if options.summary else "\n".join(_lines(health, hosts, options)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux overlay status")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="show for how long")
    parser.add_argument(
        "-t", "--timeout", default="0.5s", metavar="FSD", help="limit of the question, 0 is none"
    )
    parser.add_argument("--summary", action="store_true", help="the whole overlay's state only")
    parser.add_argument("--down", action="store_true", help="only brokers that are not well")
    parser.add_argument("--no-pretty", action="store_true", help="no tree")
    parser.add_argument(
        "-w", "--wait", metavar="STATE", help="until the overlay is full, partial, degraded …"
    )
    return parser


def _awaited(client: Client, options: argparse.Namespace, limit: float) -> JSON:
    """The health of the overlay; with --wait once it is as wanted, within `limit` seconds."""
    began = time.monotonic()
    while True:
        health = client.rpc("overlay.health", {}, timeout=limit or None)
        if options.wait in (None, health["status"]):
            return health
        if options.timeout != "0.5s" and time.monotonic() - began > limit > 0:
            raise RpcError(errno.ETIMEDOUT, "Connection timed out")
        time.sleep(_POLL)


def _hosts(client: Client) -> list[str]:
    from broker_config import hostlist  # noqa: PLC0415 - imported once the state is known

    return hostlist.decode(client.rpc("attr.get", {"name": "hostlist"})["value"])


def _lines(health: JSON, hosts: list[str], options: argparse.Namespace) -> list[str]:
    children = [one for one in health["children"] if not options.down or one["status"] != "full"]
    lines = [_line(health, hosts, options)]
    for child in children:
        branch = "" if options.no_pretty else "└─ " if child is children[-1] else "├─ "
        lines.append(branch + _line(child, hosts, options))
    return lines


def _line(broker: JSON, hosts: list[str], options: argparse.Namespace) -> str:
    since = f" for {broker['duration']:.6g}s" if options.verbose else ""
    error = f" {broker['error']}" if broker.get("error") else ""
    return f"{broker['rank']} {hosts[broker['rank']]}: {broker['status']}{since}{error}"
