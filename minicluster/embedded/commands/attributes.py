"""`flux getattr`: an attribute of the broker."""

from __future__ import annotations

from minicluster.embedded.client import BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run `flux getattr NAME`."""
    parser = Parser("flux getattr")
    parser.add_argument("name")
    name = parser.parse_args(argv[1:]).name
    with BrokerClient() as client:
        try:
            print(client.rpc("attr.get", {"name": name})["value"])
        except RpcError as error:
            fail(f"{name}: {error}")
    return 0
