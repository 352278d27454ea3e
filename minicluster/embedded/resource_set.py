"""Resource sets (RFC 20) as the scheduler has them: bits of cores and GPUs by rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from broker_config import hostlist, idset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

R = dict[str, Any]
Share = tuple[int, int]  # bits of cores, bits of GPUs
Holding = dict[int, Share]  # by rank


@dataclass(frozen=True, slots=True)
class Node:
    """One broker's resources as R has them; ids are bits."""

    rank: int
    host: str
    cores: int
    gpus: int
    properties: frozenset[str]


def nodes_of(resources: Mapping[str, Any]) -> tuple[Node, ...]:
    """The nodes of an R, which covers ranks 0 to n-1."""
    execution = resources["execution"]
    hosts = [host for part in execution["nodelist"] for host in hostlist.decode(part)]
    lite = [
        (rank, entry["children"])
        for entry in execution["R_lite"]
        for rank in idset.decode(str(entry["rank"]))
    ]
    properties: dict[int, set[str]] = {}
    for name, members in execution.get("properties", {}).items():
        for rank in idset.decode(members):
            properties.setdefault(rank, set()).add(name)
    ranks = sorted(rank for rank, _ in lite)
    children = dict(lite)
    return tuple(
        Node(
            rank,
            host,
            _bits(children[rank].get("core", "")),
            _bits(children[rank].get("gpu", "")),
            frozenset(properties.get(rank, ())),
        )
        for rank, host in zip(ranks, hosts, strict=True)
    )


def summary(holding: Holding) -> str:
    """The short form that Flux annotates: rank[0-1]/core[0-3]."""
    by_share: dict[Share, list[int]] = {}
    for rank, share in sorted(holding.items()):
        by_share.setdefault(share, []).append(rank)
    return " ".join(
        f"rank{_bracketed(ranks)}/"
        + ",".join(
            f"{kind}{_bracketed(ids(bits))}"
            for kind, bits in zip(("core", "gpu"), share, strict=True)
            if bits
        )
        for share, ranks in by_share.items()
    )


def holding_of(resources: R) -> Holding:
    """What an R gives on each rank."""
    return {
        rank: (_bits(entry["children"].get("core", "")), _bits(entry["children"].get("gpu", "")))
        for entry in resources["execution"]["R_lite"]
        for rank in idset.decode(str(entry["rank"]))
    }


def cores_of(resources: R) -> int:
    """How many cores an R has."""
    return sum(cores.bit_count() for cores, _ in holding_of(resources).values())


def counted(nodes: Iterable[Node]) -> tuple[int, int, int]:
    """Nodes, cores and GPUs."""
    listed = list(nodes)
    cores, gpus = sum(n.cores.bit_count() for n in listed), sum(n.gpus.bit_count() for n in listed)
    return len(listed), cores, gpus


def without(nodes: Iterable[Node], taken: Iterable[Node]) -> list[Node]:
    """What is left of nodes when the cores and GPUs of others are taken away."""
    used = {node.rank: (node.cores, node.gpus) for node in taken}
    left = []
    for node in nodes:
        cores, gpus = used.get(node.rank, (0, 0))
        rest = replace(node, cores=node.cores & ~cores, gpus=node.gpus & ~gpus)
        left += [rest] if rest.cores or rest.gpus else []
    return left


def described(lite: list[R], hosts: Iterable[str]) -> R:
    """Return R of these R_lite entries, all of whose ranks have a host."""
    execution = {"R_lite": lite, "starttime": 0.0, "expiration": 0.0, "nodelist": [hostlist.encode(hosts)]}
    return {"version": 1, "execution": execution}


def encode(nodes: Sequence[Node], shares: Mapping[int, Share], **execution: Any) -> R:
    """An R with these shares of the nodes; `execution` adds or overrides its keys."""
    ranks = sorted(shares)
    by_children: dict[Share, list[int]] = {}
    for rank in ranks:
        by_children.setdefault(shares[rank], []).append(rank)
    made: dict[str, Any] = {
        "R_lite": [{"rank": idset.encode(r), "children": _children(s)} for s, r in by_children.items()],
        "starttime": 0.0,
        "expiration": 0.0,
        "nodelist": [hostlist.encode(nodes[rank].host for rank in ranks)],
    }
    properties: dict[str, list[int]] = {}
    for rank in ranks:
        for name in sorted(nodes[rank].properties):
            properties.setdefault(name, []).append(rank)
    if properties:
        made["properties"] = {name: idset.encode(members) for name, members in properties.items()}
    return {"version": 1, "execution": made | execution}


def _bits(text: str) -> int:
    return sum(1 << each for each in idset.decode(text))


def ids(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    position = 0
    while bits:
        if bits & 1:
            yield position
        bits >>= 1
        position += 1


def _children(share: Share) -> dict[str, str]:
    return {kind: idset.encode(ids(bits)) for kind, bits in zip(("core", "gpu"), share, strict=True) if bits}


def _bracketed(ids: Iterable[int]) -> str:
    text = idset.encode(ids)
    return text if text.isdigit() else f"[{text}]"
