"""`flux dump` and `flux shutdown`: saving the jobs, and ending the instance."""

from __future__ import annotations

import errno
import os

from minicluster.embedded.client import BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, note

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run `flux dump` or `flux shutdown`."""
    return {"dump": _dump, "shutdown": _shutdown}[argv[0]](argv[1:])


def _dump(argv: list[str]) -> int:
    parser = Parser("flux dump", usage="flux dump [OPTIONS] OUTFILE")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when it went well")
    parser.add_argument("outfile", metavar="OUTFILE")
    options = parser.parse_args(argv)
    with BrokerClient() as client:
        try:
            answer = client.rpc("content.dump", {"path": os.path.abspath(options.outfile)})  # noqa: PTH100
        except RpcError as error:
            fail(f"Failed to dump to '{options.outfile}': {error}")
    if not options.quiet:
        note(f"flux-dump: archived {answer['jobs']} jobs")
    return 0


def _shutdown(argv: list[str]) -> int:
    parser = Parser("flux shutdown", usage="flux shutdown [OPTIONS]")
    parser.add_argument("--dump", metavar="PATH", help="save the jobs to this file")
    parser.add_argument("--quiet", action="store_true", help="warnings and errors only")
    options = parser.parse_args(argv)
    with BrokerClient() as client:
        try:
            _end(client, options.dump, quiet=options.quiet)
        except RpcError as error:
            # The broker closes the connection when it ends, as it was asked to.
            if error.errnum != errno.ECONNRESET:
                fail(str(error))
    return 0


def _end(client: BrokerClient, dump: str | None, *, quiet: bool) -> None:
    if dump:
        client.rpc("attr.set", {"name": "content.dump", "value": os.path.abspath(dump)})  # noqa: PTH100
        note(f"flux-shutdown: shutdown will dump KVS to {dump} (this may take some time)")
    for line in client.stream("shutdown.start", {"loglevel": 4 if quiet else 6}):
        if not quiet:
            note(str(line["log"]))
