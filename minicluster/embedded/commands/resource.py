"""`flux resource list|status|drain|undrain`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from broker_config.formats import hostlist, idset, resource_set
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import named_formats
from minicluster.embedded.commands.configured_queues import ConfiguredQueues
from minicluster.embedded.commands.console import Parser, fail, note
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from broker_config.formats.resource_set import Node

_LIST_STATES = ("all", "up", "free", "allocated", "down")
_ROWS = ("avail", "exclude", "allocated", "torpid", "housekeeping", "draining", "drained")
_STATUS_STATES = {
    "all": _ROWS,
    "online": tuple(row for row in _ROWS if row != "allocated"),
    "offline": tuple(row for row in _ROWS if row != "allocated"),
    "drain": ("draining", "drained"),
    **{name: (name,) for name in _ROWS},
}
_LIST_HEADINGS = headings(
    "state queue properties propertiesx=PROPERTIES nnodes ncores ngpus ranks nodelist rlist=LIST"
)
_LIST_FORMATS = {
    "default": "{state:>10} ?+:{queue:<5} ?:{propertiesx:<10.10+} {nnodes:>6} +:{ncores:>6} ?+:{ngpus:>5} "
    "{nodelist}"
}
_STATUS_HEADINGS = headings("state statex=STATE up status nnodes ranks nodelist reason timestamp=TIME")
# As real Flux writes them without colours.
_STATUS_FORMATS = {"default": "{state:>12}{up:>2} {nnodes:>6} {nodelist}"}
_DRAIN_FORMATS = {"default": "{timestamp!d:%b%d %R::<12} {state:<8.8} {reason:<30.30+} {nodelist}"}


def main(argv: list[str]) -> int:
    """Run `flux resource COMMAND …`."""
    options = _parser().parse_args(argv[1:])
    with BrokerClient() as client:
        try:
            options.run(client, options)
        except RpcError as error:
            number = f"[Errno {error.errnum}] " if options.subcommand != "undrain" else ""
            note(f"flux-resource: ERROR: {number}{error}")
            if options.subcommand == "drain" and error.errnum == 17:
                note("flux-resource: INFO: Use --force to overwrite existing drain reason")
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-resource")
    commands = parser.add_subparsers(
        required=True, dest="subcommand", metavar="subcommand", parser_class=argparse.ArgumentParser
    )

    def command(
        name: str, run: Callable[[BrokerClient, argparse.Namespace], None], text: str
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text)
        one.set_defaults(run=run)
        return one

    for name, run, default in (("list", _list, "free,allocated,down"), ("status", _status, None)):
        one = command(name, run, "list resources by state")
        named_formats.add_options(one)
        one.add_argument("-s", "--states", default=default, metavar="STATE,...", help="in these states")
    drain = command("drain", _drain, "list drained nodes, or drain nodes")
    named_formats.add_options(drain)
    drain.add_argument("-u", "--update", action="store_true", help="pass over those that are drained")
    undrain = command("undrain", _undrain, "give nodes work again")
    for one, count in ((drain, "?"), (undrain, None)):
        one.add_argument("-f", "--force", action="store_true", help="whatever they are now")
        one.add_argument("targets", nargs=count, help="ranks or hosts")
        one.add_argument("reason", nargs="*", help="reason")
    return parser


def _list(client: BrokerClient, options: argparse.Namespace) -> None:
    wanted = options.states.split(",")
    for state in wanted:
        if state not in _LIST_STATES:
            fail(f"Invalid resource state {state} specified")
    layout = named_formats.chosen(options, _LIST_FORMATS, _LIST_HEADINGS)
    answer = client.rpc("resource.sched-status")
    sets = {name: list(resource_set.nodes_of(answer[name])) for name in ("all", "down", "allocated")}
    down = {node.rank for node in sets["down"]}
    sets["up"] = [node for node in sets["all"] if node.rank not in down]
    sets["free"] = _without(sets["up"], sets["allocated"])
    queues = ConfiguredQueues.of(client)
    rows = [row for state in wanted for row in _list_rows(state, sets[state], queues, layout.names)]
    named_formats.show(layout, rows, options)


def _list_rows(
    state: str, some: list[Node], queues: ConfiguredQueues, shown: Collection[str]
) -> Iterator[JSON]:
    """Yield a row for each group of nodes that differ in what is shown; of no nodes, one for each queue."""
    differing = [name for name in ("queue", "properties", "propertiesx") if name in shown and len(shown) > 1]
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in some:
        belongs = _belongs(node.properties, queues)
        groups.setdefault(tuple(belongs[name] for name in differing), []).append(node)
    for members in groups.values():
        found = frozenset[str]().union(*(node.properties for node in members))
        yield {"state": state, **_belongs(found, queues), **_sizes(members)}
    if not some:
        for queue in queues.names if "queue" in differing and queues.names else [""]:
            yield {"state": state, "queue": queue, "properties": "", "propertiesx": "", **_sizes([])}


def _belongs(properties: AbstractSet[str], queues: ConfiguredQueues) -> JSON:
    """Return the queues of nodes and their properties, with and without those that are names of queues."""
    names = sorted(properties)
    return {
        "queue": ",".join(queues.suiting(properties)),
        "properties": ",".join(names),
        "propertiesx": ",".join(name for name in names if name not in queues.names),
    }


def _sizes(members: list[Node]) -> JSON:
    nodes, cores, gpus = resource_set.counts(members)
    resources = {node.rank: (node.cores, node.gpus) for node in members}
    rlist = resource_set.summary(resources)
    return {"nnodes": nodes, "ncores": cores, "ngpus": gpus, **_where(members), "rlist": rlist}


def _without(nodes: Iterable[Node], taken: Iterable[Node]) -> list[Node]:
    """Return nodes without the cores and GPUs of `taken`."""
    used = {node.rank: (node.cores, node.gpus) for node in taken}
    left = []
    for node in nodes:
        cores, gpus = used.get(node.rank, (0, 0))
        rest = node._replace(cores=node.cores & ~cores, gpus=node.gpus & ~gpus)
        left += [rest] if rest.cores or rest.gpus else []
    return left


def _where(some: Iterable[Node]) -> JSON:
    listed = list(some)
    return {
        "ranks": idset.encode(node.rank for node in listed),
        "nodelist": hostlist.encode(node.host for node in listed),
    }


def _status(client: BrokerClient, options: argparse.Namespace) -> None:
    states = _wanted(options.states)
    layout = named_formats.chosen(options, _STATUS_FORMATS, _STATUS_HEADINGS)
    detailed = bool({"reason", "timestamp"} & set(layout.names))
    rows = _Nodes(client.rpc("resource.status")).rows(states, options.states, detailed)
    named_formats.show(layout, rows, options)


def _wanted(text: str | None) -> list[str]:
    names = text.split(",") if text else ["all"]
    for name in names:
        if name not in _STATUS_STATES:
            note(f"flux-resource: ERROR: Invalid resource state {name} specified")
            note(f"flux-resource: INFO: valid states: {','.join(_STATUS_STATES)}")
            fail("")
    rows = {row for name in names for row in _STATUS_STATES[name]}
    return [row for row in _ROWS if row in rows]


class _Nodes:
    """The nodes by state, from the answer of resource.status."""

    def __init__(self, answer: JSON) -> None:
        self._nodes = {node.rank: node for node in resource_set.nodes_of(answer["R"])}
        self._offline = set(idset.decode(answer["offline"]))
        self._reasons = {
            rank: (drain["timestamp"], drain["reason"])
            for ranks, drain in answer["drain"].items()
            for rank in idset.decode(ranks)
        }
        allocated, drained = set(idset.decode(answer["allocated"])), set(self._reasons)
        self._sets = {
            "avail": set(self._nodes) - drained,
            "allocated": allocated,
            "draining": drained & allocated,
            "drained": drained - allocated,
        }

    def rows(self, states: Iterable[str], asked: str | None, detailed: bool) -> list[JSON]:
        """Return a row for each state (and reason, if shown); empty ones only where they were asked for."""
        rows = []
        for state in states if asked else ("avail", "draining", "drained"):
            ranks = self._sets.get(state, set())
            for up in (True, False):
                part = sorted(rank for rank in ranks if (rank not in self._offline) == up)
                if part or (up and (state == "avail" or asked)):
                    rows += self._rows(state, part, up, detailed)
        return rows

    def drained(self) -> list[JSON]:
        """Return a row for each state, time and reason of drained nodes."""
        return [row for row in self.rows(("draining", "drained"), "drain", detailed=True) if row["nnodes"]]

    def _rows(self, state: str, ranks: list[int], up: bool, detailed: bool) -> list[JSON]:
        groups: dict[tuple[float, str], list[int]] = {} if ranks else {(0.0, ""): []}
        for rank in ranks:
            drain = self._reasons.get(rank, (0.0, "")) if detailed else (0.0, "")
            groups.setdefault(drain, []).append(rank)
        return [self._row(state, members, up, drain) for drain, members in sorted(groups.items())]

    def _row(self, state: str, ranks: list[int], up: bool, drain: tuple[float, str]) -> JSON:
        return {
            "state": state if up else f"{state}*",
            "statex": state,
            "nnodes": len(ranks),
            "up": "✔" if up else "✗",
            "status": "online" if up else "offline",
            "timestamp": drain[0],
            "reason": drain[1],
            **_where(self._nodes[rank] for rank in ranks),
        }


def _drain(client: BrokerClient, options: argparse.Namespace) -> None:
    if options.targets is None:
        layout = named_formats.chosen(options, _DRAIN_FORMATS, _STATUS_HEADINGS)
        named_formats.show(layout, _Nodes(client.rpc("resource.status")).drained(), options)
        return
    mode = "update" if options.update else "overwrite" if options.force else ""
    reason = {"reason": " ".join(options.reason)} if options.reason else {}
    client.rpc("resource.drain", {"targets": options.targets, "mode": mode, **reason})


def _undrain(client: BrokerClient, options: argparse.Namespace) -> None:
    client.rpc("resource.undrain", {"targets": options.targets, "mode": "overwrite" if options.force else ""})
