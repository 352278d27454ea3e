"""`flux version`."""

from __future__ import annotations

import os

from minicluster.embedded.client import BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser
from minicluster.embedded.errors import BrokerUnreachable


def main(argv: list[str]) -> int:
    """Run `flux version`; the broker's version shows where one is reached."""
    from minicluster import __version__  # noqa: PLC0415 - nothing else needs it

    if argv[1:2] != ["-V"]:
        Parser("flux version").parse_args(argv[1:])
    print(f"commands:\t\t{__version__} (minicluster, embedded)")
    uri = os.environ.get("FLUX_URI")
    if uri:
        try:
            with BrokerClient(uri) as client:
                print(f"broker:\t\t\t{client.rpc('attr.get', {'name': 'version'})['value']}")
        except (BrokerUnreachable, RpcError):
            pass
        print(f"FLUX_URI:\t\t{uri}")
    return 0
