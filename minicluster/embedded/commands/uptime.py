"""`flux uptime`."""

from __future__ import annotations

import pwd
import time

from minicluster.embedded.client import BrokerClient
from minicluster.embedded.commands.console import Parser

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run `flux uptime`."""
    Parser("flux uptime").parse_args(argv[1:])
    with BrokerClient() as client:
        _print(client)
    return 0


def _print(client: BrokerClient) -> None:
    def attribute(name: str) -> str:
        return str(client.rpc("attr.get", {"name": name})["value"])

    state = client.rpc("state-machine.get")["state"]
    up = time.time() - float(attribute("broker.starttime"))
    owner = pwd.getpwuid(int(attribute("security.owner"))).pw_name
    line = f" {time.strftime('%H:%M:%S')} {state} {_short(up)},  owner {owner}"
    line += f",  depth {attribute('instance-level')},  size {attribute('size')}"
    status = client.rpc("resource.status")
    drained = sum(_counted(ranks) for ranks in status["drain"])
    for count, word in ((drained, "drained"), (_counted(status["offline"]), "offline")):
        line += f",  {count} {word}" if count else ""
    print(line)
    if remarks := _stopped(client):
        print("  " + ",  ".join(remarks))


def _counted(ranks: str) -> int:
    from broker_config.formats import idset  # noqa: PLC0415 - a healthy instance has nothing to count

    return len(idset.decode(ranks)) if ranks else 0


def _stopped(client: BrokerClient) -> list[str]:
    """Return why no jobs start; stopped named queues are shown by `flux queue` only."""
    if client.rpc("job-manager.queue-list")["queues"]:
        return []
    return [] if client.rpc("job-manager.queue-status")["start"] else ["scheduler stopped"]


def _short(seconds: float) -> str:
    """Return a duration with two digits: 3.2s, 1.5m, 2h, 12d."""
    for unit, size, stop in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 86400)):
        if seconds < stop:
            return f"{seconds / size:.2g}{unit}"
    return f"{seconds / 86400:.2g}d" if seconds < 8_640_000 else f"{seconds / 86400:.0f}d"
