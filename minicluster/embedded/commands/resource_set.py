"""`flux R encode`: resource sets (RFC 20) for configurations and tests."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from broker_config.formats import hostlist, idset, resource_set
from broker_config.formats.errors import ParseError
from broker_config.formats.resource_set import Node, ResourceSet
from minicluster.embedded.commands.console import Parser, fail, subcommand

if TYPE_CHECKING:
    import argparse

    from minicluster.embedded.client import JSON

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run `flux R encode`."""
    print(json.dumps(_encoded(_parser().parse_args(subcommand(argv, "encode")))))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux R encode")
    parser.add_argument("-r", "--ranks", metavar="IDSET", help="ranks (default: one for each host, else 0)")
    parser.add_argument("-c", "--cores", metavar="IDS", default="0", help="cores of each rank (default 0)")
    parser.add_argument("-g", "--gpus", metavar="IDS", help="GPUs of each rank")
    parser.add_argument("-H", "--hosts", metavar="HOSTS", help="hosts (default: this one, for each rank)")
    return parser


def _ids(text: str, what: str) -> tuple[int, ...]:
    try:
        return idset.decode(text)
    except ParseError:
        fail(f"Failed to decode {what}='{text}' as idset")


def _bits(text: str, what: str) -> int:
    try:
        return idset.decode_bits(text)
    except ParseError:
        fail(f"Failed to decode {what}='{text}' as idset")


def _encoded(options: argparse.Namespace) -> JSON:
    try:
        hosts = hostlist.decode(options.hosts) if options.hosts else None
    except ParseError:
        fail(f"Failed to decode hosts='{options.hosts}' as hostlist")
    ranks = _ids(options.ranks, "ranks") if options.ranks else tuple(range(len(hosts or [""])))
    if hosts is None:
        hosts = [os.uname().nodename] * len(ranks)
    if len(hosts) != len(ranks):
        fail(f"hostname count in '{options.hosts}' does not match nranks ({len(ranks)})")
    cores, gpus = _bits(options.cores, "cores"), _bits(options.gpus or "", "gpus")
    nodes = (Node(rank, host, cores, gpus) for rank, host in zip(ranks, hosts, strict=True))
    return resource_set.in_flux_order(resource_set.to_dict(ResourceSet(tuple(nodes))))
