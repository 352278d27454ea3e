"""`flux overlay status`."""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING

from broker_config.formats import hostlist
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, limit, subcommand

if TYPE_CHECKING:
    import argparse

PREFIX = "flux-overlay: "
_STATES = ("full", "partial", "offline", "degraded", "lost")
_POLL_INTERVAL = 0.05
"""Seconds."""


def main(argv: list[str]) -> int:
    """Run `flux overlay status`."""
    options = _parser().parse_args(subcommand(argv, "status"))
    if options.wait and options.wait not in _STATES:
        fail(f"invalid --wait state: {options.wait}")
    timeout = limit(options.timeout)
    with BrokerClient() as client:
        health = _awaited(client, options.wait, timeout)
        hosts = hostlist.decode(client.rpc("attr.get", {"name": "hostlist"})["value"])
    print(health["status"] if options.summary else "\n".join(_lines(health, hosts, options)))
    return 0


def _parser() -> Parser:
    parser = Parser("flux overlay status")
    parser.add_argument("-t", "--timeout", metavar="FSD", help="give up after so long")
    parser.flag("--summary", help="the whole overlay's state only")
    parser.flag("--no-pretty", help="no tree")
    parser.add_argument(
        "-w", "--wait", metavar="STATE", help="until the overlay is full, partial, degraded …"
    )
    return parser


def _awaited(client: BrokerClient, wanted: str | None, timeout: float | None) -> JSON:
    """Return the health of the overlay; with --wait once it is `wanted`, within `timeout` seconds."""
    began = time.monotonic()
    while True:
        health = client.rpc("overlay.health", {}, timeout=timeout)
        if wanted in (None, health["status"]):
            return health
        if timeout and time.monotonic() - began > timeout:
            raise RpcError(errno.ETIMEDOUT)
        time.sleep(_POLL_INTERVAL)


def _lines(health: JSON, hosts: list[str], options: argparse.Namespace) -> list[str]:
    children = health["children"]
    lines = [_line(health, hosts)]
    for child in children:
        branch = "" if options.no_pretty else "└─ " if child is children[-1] else "├─ "
        lines.append(branch + _line(child, hosts))
    return lines


def _line(broker: JSON, hosts: list[str]) -> str:
    error = f" {broker['error']}" if broker.get("error") else ""
    return f"{broker['rank']} {hosts[broker['rank']]}: {broker['status']}{error}"
