"""`flux resource list|status|drain|undrain`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from broker_config import hostlist, idset
from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands.console import Parser, fail, note
from minicluster.embedded.commands.named_formats import chosen
from minicluster.embedded.formats import headings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Node = tuple[int, str, tuple[int, ...], tuple[int, ...], str]  # rank, host, cores, GPUs, properties

_LIST_STATES = ("all", "free", "allocated", "down", "up")
_ROWS = ("avail", "exclude", "allocated", "torpid", "housekeeping", "draining", "drained")
_STATUS_STATES = {
    "all": _ROWS,
    "online": _ROWS,
    "offline": _ROWS,
    "drain": ("draining", "drained"),
    **{name: (name,) for name in _ROWS},
}
LIST_HEADINGS = headings(
    "state queue properties propertiesx=PROPERTIES nnodes ncores ngpus ranks nodelist rlist=LIST"
)
_LISTED = "{state:>10} ?+:{queue:<5} ?:{propertiesx:<10.10+} {nnodes:>6} +:{ncores:>6} ?+:{ngpus:>5} "
LIST_FORMATS = {
    "default": ("Default flux-resource list format string", _LISTED + "{nodelist}"),
    "rlist": ("Format including resource list details", _LISTED + "{rlist}"),
}
STATUS_HEADINGS = headings("state statex=STATE up status nnodes ranks nodelist reason timestamp=TIME")
_UP = "{state:>12}{up:>2} {nnodes:>6} "  # as real Flux writes it without colours
STATUS_FORMATS = {
    "default": ("Default flux-resource status format string", _UP + "{nodelist}"),
    "long": ("Long flux-resource status format string", _UP + "+:{reason:<30.30} {nodelist}"),
}
_DRAINED = "{timestamp!d:%b%d %R::<12} {state:<8.8} "
_WHY = "{ranks:<8.8+} +:{reason:<30.30} {nodelist}"
DRAIN_FORMATS = {
    "default": ("Default flux-resource drain format string", _DRAINED + "{reason:<30.30+} {nodelist}"),
    "long": ("Long flux-resource drain format string", _DRAINED + _WHY),
}


def main(argv: list[str]) -> int:
    """Run `flux resource COMMAND …`."""
    options = _parser().parse_args(argv[1:])
    run: Callable[[Client, argparse.Namespace], None] = options.run
    with Client() as client:
        try:
            run(client, options)
        except RpcError as error:
            note(f"flux-resource: ERROR: {f'[Errno {error.errnum}] ' if options.errno else ''}{error}")
            if options.subcommand == "drain" and error.errnum == 17:
                note("flux-resource: INFO: Use --force to overwrite existing drain reason")
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-resource")
    commands = parser.add_subparsers(
        required=True, dest="subcommand", metavar="subcommand", parser_class=argparse.ArgumentParser
    )

    def listing(
        name: str, run: Callable[[Client, argparse.Namespace], None], text: str
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text)
        one.add_argument(
            "-o", "--format", default="default", metavar="FORMAT", help="format string or name of one"
        )
        one.add_argument("-n", "--no-header", action="store_true", help="no header line")
        one.set_defaults(run=run, errno=True)
        return one

    listing("list", _list, "list resources by state").add_argument(
        "-s", "--states", default="free,allocated,down", metavar="STATE,...", help="in these states"
    )
    listing("status", _status, "list nodes by state").add_argument(
        "-s", "--states", metavar="STATE,...", help="in these states"
    )
    drain = listing("drain", _drain, "list drained nodes, or drain nodes")
    drain.add_argument(
        "-f", "--force", action="count", default=0, help="overwrite the reason; twice: the time too"
    )
    drain.add_argument("-u", "--update", action="store_true", help="pass over those that are drained")
    undrain = commands.add_parser("undrain", help="give nodes work again")
    undrain.add_argument(
        "-f", "--force", action="count", default=0, help="pass over those that are not drained"
    )
    undrain.set_defaults(run=_undrain, errno=False)
    for one, count in ((drain, "?"), (undrain, None)):
        one.add_argument("targets", nargs=count, help="ranks or hosts")
        one.add_argument("reason", nargs="*", help="reason")
    return parser


def nodes(resources: JSON | None) -> list[Node]:
    """The nodes of an R (RFC 20), by rank; an R without nodes has none."""
    execution = (resources or {}).get("execution", {})
    names = [host for part in execution.get("nodelist", ()) for host in hostlist.decode(part)]
    children = {}
    for entry in execution.get("R_lite", ()):
        for rank in idset.decode(entry["rank"]):
            children[rank] = entry["children"]
    held: dict[int, list[str]] = {}
    for name, ranks in execution.get("properties", {}).items():
        for rank in idset.decode(ranks):
            held.setdefault(rank, []).append(name)
    return [
        (rank, host, _ids(children[rank], "core"), _ids(children[rank], "gpu"), ",".join(held.get(rank, ())))
        for rank, host in zip(sorted(children), names, strict=True)
    ]


def _ids(children: JSON, kind: str) -> tuple[int, ...]:
    text = children.get(kind, "")
    return idset.decode(text) if text else ()


def counted(some: Iterable[Node]) -> tuple[int, int, int]:
    """Nodes, cores and GPUs."""
    listed = list(some)
    return len(listed), sum(len(node[2]) for node in listed), sum(len(node[3]) for node in listed)


def short(some: Iterable[Node]) -> str:
    """rank[0-1]/core[0-3],gpu0: as Flux writes a resource set for people."""
    groups: dict[str, list[int]] = {}
    for rank, _host, cores, gpus, _properties in some:
        parts = [f"{kind}{_bracketed(ids)}" for kind, ids in (("core", cores), ("gpu", gpus)) if ids]
        groups.setdefault(",".join(parts), []).append(rank)
    return " ".join(f"rank{_bracketed(ranks)}/{inside}" for inside, ranks in groups.items())


def _bracketed(ids: Sequence[int]) -> str:
    return f"[{idset.encode(ids)}]" if len(ids) > 1 else str(ids[0])


def _list(client: Client, options: argparse.Namespace) -> None:
    wanted = options.states.split(",")
    for state in wanted:
        if state not in _LIST_STATES:
            fail(f"Invalid resource state {state} specified")
    layout = chosen("resource", options.format, LIST_FORMATS, LIST_HEADINGS, lambda row, name: row[name])
    if layout is None:
        return
    answer = client.rpc("sched.resource-status")
    sets = {name: nodes(answer[name]) for name in ("all", "down", "allocated")}
    down = {node[0] for node in sets["down"]}
    sets["up"] = [node for node in sets["all"] if node[0] not in down]
    sets["free"] = _without(sets["up"], sets["allocated"])
    rows = []
    for state in ("all", "up", "free", "allocated", "down"):
        if state in wanted:
            rows += _list_rows(state, sets[state])
    print("\n".join(layout.table(rows, header=not options.no_header)))


def _without(these: Iterable[Node], taken: Iterable[Node]) -> list[Node]:
    """What is left of nodes when the cores and GPUs of others are taken away."""
    used = {node[0]: (set(node[2]), set(node[3])) for node in taken}
    left = []
    for rank, host, cores, gpus, properties in these:
        cores_used, gpus_used = used.get(rank, (set(), set()))
        free = tuple(core for core in cores if core not in cores_used)
        if free:
            left.append((rank, host, free, tuple(gpu for gpu in gpus if gpu not in gpus_used), properties))
    return left


def _list_rows(state: str, some: list[Node]) -> list[JSON]:
    groups: dict[str, list[Node]] = {} if some else {"": []}
    for node in some:
        groups.setdefault(node[4], []).append(node)
    return [_list_row(state, properties, group) for properties, group in groups.items()]


def _list_row(state: str, properties: str, some: list[Node]) -> JSON:
    count, cores, gpus = counted(some)
    return {
        "state": state,
        "queue": "",
        "properties": properties,
        "propertiesx": properties,
        "nnodes": count,
        "ncores": cores,
        "ngpus": gpus,
        **_where(some),
        "rlist": short(some),
    }


def _where(some: Iterable[Node]) -> JSON:
    listed = list(some)
    return {
        "ranks": idset.encode(node[0] for node in listed),
        "nodelist": hostlist.encode(node[1] for node in listed),
    }


def _status(client: Client, options: argparse.Namespace) -> None:
    states = _wanted(options.states)
    layout = chosen("resource", options.format, STATUS_FORMATS, STATUS_HEADINGS, lambda row, name: row[name])
    if layout is None:
        return
    detailed = bool({"reason", "timestamp"} & set(layout.names))
    rows = _Nodes(client.rpc("resource.status")).rows(states, options.states, detailed)
    print("\n".join(layout.table(rows, header=not options.no_header)))


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
    """The answer of resource.status by state."""

    def __init__(self, answer: JSON) -> None:
        self._nodes = {node[0]: node for node in nodes(answer["R"])}
        self._offline = self._set(answer["offline"])
        allocated = self._set(answer["allocated"])
        self._reasons: dict[int, tuple[float, str]] = {}
        for ranks, drain in answer["drain"].items():
            for rank in self._set(ranks):
                self._reasons[rank] = (drain["timestamp"], drain["reason"])
        drained = set(self._reasons)
        exclude, torpid = self._set(answer["exclude"]), self._set(answer["torpid"])
        self._sets = {
            "avail": set(self._nodes) - drained - exclude,
            "exclude": exclude,
            "allocated": allocated,
            "torpid": torpid,
            "housekeeping": set(),
            "draining": drained & allocated,
            "drained": drained - allocated,
        }

    @staticmethod
    def _set(text: str) -> set[int]:
        return set(idset.decode(text)) if text else set()

    def rows(self, states: Iterable[str], asked: str | None, detailed: bool) -> list[JSON]:
        """A line a state and, where shown, a reason; empty ones only where they were asked for."""
        default = ("avail", "exclude", "torpid", "draining", "drained")
        rows = []
        for state in states if asked else default:
            ranks = self._sets[state]
            for up in (True, False):
                part = sorted(rank for rank in ranks if (rank not in self._offline) == up)
                if part or (up and (state == "avail" or asked)):
                    rows += self._rows(state, part, up, detailed)
        return rows

    def drained(self) -> list[JSON]:
        """A line for each state, time and reason."""
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
            "up": "✔" if up else "✗",
            "status": "online" if up else "offline",
            "nnodes": len(ranks),
            "timestamp": drain[0],
            "reason": drain[1],
            **_where(self._nodes[rank] for rank in ranks),
        }


def _drain(client: Client, options: argparse.Namespace) -> None:
    if options.targets is None:
        layout = chosen(
            "resource", options.format, DRAIN_FORMATS, STATUS_HEADINGS, lambda row, name: row[name]
        )
        if layout is not None:
            rows = _Nodes(client.rpc("resource.status")).drained()
            print("\n".join(layout.table(rows, header=not options.no_header)))
        return
    mode = "update" if options.update else ("", "overwrite", "force-overwrite")[min(options.force, 2)]
    payload = {"targets": options.targets, "mode": mode}
    client.rpc(
        "resource.drain", {**payload, "reason": " ".join(options.reason)} if options.reason else payload
    )


def _undrain(client: Client, options: argparse.Namespace) -> None:
    client.rpc("resource.undrain", {"targets": options.targets, "mode": "force" if options.force else ""})
