"""R, the resource set (RFC 20, version 1): the resources of an instance, or those allocated to a job.

A node's cores and GPUs are numbers whose bit N is set for the id N, so that equal nodes share them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import hostlist, idset
from broker_config.formats.errors import ParseError, ResourceSetError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias  # novm - for type checkers alone

R: TypeAlias = "dict[str, Any]"
"""The JSON object."""
RankResources: TypeAlias = "tuple[int, int]"
"""Resources on one rank: bits of cores, bits of GPUs."""
Allocation: TypeAlias = "dict[int, RankResources]"
"""The resources of a job, by rank."""

_ILLEGAL_PROPERTY = re.compile(r"[!&'\"^`|()]")
_KINDS = {int: "number", float: "number", dict: "object", list: "array", str: "string"}


class ResourceTimes(NamedTuple):
    """From when until when resources are granted, in seconds since 1970; 0: not limited."""

    starttime: float
    expiration: float


class Node(NamedTuple):
    """The resources of one execution target (broker rank), or those allocated to a job there."""

    rank: int
    host: str
    """The host's name; empty in an R that names no hosts."""
    cores: int
    """Bits of core ids."""
    gpus: int = 0
    """Bits of GPU ids."""
    properties: frozenset[str] = frozenset()
    domains: tuple[int, ...] = ()
    """Bits of the core ids of each NUMA domain, which no R has; (): one domain of all cores."""


class ResourceSet(NamedTuple):
    """All of an R. Times are seconds since 1970; 0: none."""

    nodes: tuple[Node, ...]
    """By ascending rank."""
    properties: Mapping[str, tuple[int, ...]] = {}
    """The ranks that have each property, in the order of the document."""
    nslots: int | None = None
    """How many slots a job requested; None in an instance's own R."""
    starttime: float = 0.0
    expiration: float = 0.0
    scheduling: Mapping[str, Any] | None = None
    """Data of the scheduler that wrote it, kept unchanged."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names in the order of ranks."""
        return tuple(node.host for node in self.nodes)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of nodes, cores and GPUs."""
        return counts(self.nodes)


# -- reading ---------------------------------------------------------------------------------------------


def loads(text: str) -> ResourceSet:
    """Read an R from JSON text. Raises ResourceSetError if it is none, or Flux would refuse it."""
    try:
        found = read(json.loads(text))
    except json.JSONDecodeError as error:
        raise ResourceSetError(f"R is not JSON: {error}") from error
    check(found)
    return found


def read(document: Any) -> ResourceSet:
    """Read an R from its JSON object. Raises ResourceSetError, which names the wrong key."""
    version = _get(document, "R", "version", int)
    if version != 1:
        raise ResourceSetError(f"R has version {version}: only version 1 is known")
    execution = _get(document, "R", "execution", dict)
    properties = _properties(execution)
    return ResourceSet(
        _nodes(execution, properties),
        properties,
        nslots_of(document),
        *times_of(document),
        document.get("scheduling"),
    )


def nodes_of(document: Any) -> tuple[Node, ...]:
    """Return the nodes of an R by ascending rank. Raises ResourceSetError."""
    execution = _get(document, "R", "execution", dict)
    return _nodes(execution, _properties(execution))


def hosts_of(document: Any) -> list[str]:
    """Return the hosts of an R in the order of its ranks. Raises ResourceSetError."""
    return _hosts(_get(document, "R", "execution", dict))


def ranks_of(document: Any) -> tuple[int, ...]:
    """Return the ranks of an R, ascending. Raises ResourceSetError."""
    entries = _entries(_get(document, "R", "execution", dict))
    return tuple(sorted(rank for _field_path, _entry, ranks in entries for rank in ranks))


def allocation_of(document: Any) -> Allocation:
    """Return the allocation of an R. Raises ResourceSetError."""
    return {rank: (cores, gpus) for rank, cores, gpus in _lite(_get(document, "R", "execution", dict))}


def times_of(document: Any) -> ResourceTimes:
    """Return the times of an R. Raises ResourceSetError."""
    execution = _get(document, "R", "execution", dict)
    start, end = (_get(execution, "execution", key, (int, float), 0) for key in ("starttime", "expiration"))
    return ResourceTimes(float(start), float(end))


def nslots_of(document: Any) -> int | None:
    """Return how many slots a job requested; None if its R does not have it. Raises ResourceSetError."""
    count: int | None = _get(document, "R", "execution", dict).get("nslots")
    return count


def hostlist_of(document: Any) -> str:
    """Return the hosts of an R as one hostlist, as it names them. Raises ResourceSetError."""
    execution = _get(document, "R", "execution", dict)
    return ",".join(_get(execution, "execution", "nodelist", list, []))


def check(resources: ResourceSet) -> None:
    """Raise ResourceSetError if Flux would reject `resources`; the message names the rank."""
    ranks = [node.rank for node in resources.nodes]
    if not ranks:
        raise ResourceSetError("R holds no node")
    if ranks != sorted(set(ranks)):
        raise ResourceSetError(f"R lists its ranks {ranks} out of order or twice")
    for node in resources.nodes:
        if not node.cores:
            raise ResourceSetError(
                f"R gives rank {node.rank} ({node.host}) no core: every node needs at least one"
            )
    for name, holders in resources.properties.items():
        check_property(name, holders, set(ranks))
    if resources.nslots is not None and resources.nslots < 1:
        raise ResourceSetError(f"R has nslots {resources.nslots}: an allocation has at least 1")
    if resources.starttime and resources.expiration and resources.expiration <= resources.starttime:
        raise ResourceSetError(
            f"R expires at {resources.expiration}, not after its start at {resources.starttime}"
        )


def _nodes(execution: Mapping[str, Any], properties: Mapping[str, Sequence[int]]) -> tuple[Node, ...]:
    found = sorted(_lite(execution))
    hosts = _hosts(execution) or [""] * len(found)
    if len(hosts) != len(found):
        raise ResourceSetError(f"R names {len(hosts)} hosts in nodelist for {len(found)} ranks in R_lite")
    by_rank = _by_rank(properties)
    nothing: frozenset[str] = frozenset()
    return tuple(
        Node(rank, host, cores, gpus, by_rank.get(rank, nothing))
        for (rank, cores, gpus), host in zip(found, hosts)  # noqa: B905 - not in Python 3.8
    )


def _by_rank(properties: Mapping[str, Sequence[int]]) -> dict[int, frozenset[str]]:
    """Return the properties of each rank that has any; ranks with equal properties share one set."""
    found: dict[int, set[str]] = {}
    for name, ranks in properties.items():
        for rank in ranks:
            found.setdefault(rank, set()).add(name)
    shared: dict[frozenset[str], frozenset[str]] = {}
    return {rank: shared.setdefault(each, each) for rank, each in zip(found, map(frozenset, found.values()))}  # noqa: B905


def _lite(execution: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Yield each rank with its cores and GPUs."""
    for field_path, entry, ranks in _entries(execution):
        children = _get(entry, field_path, "children", dict)
        cores, gpus = _bits(children, field_path, "core"), _bits(children, field_path, "gpu")
        for rank in ranks:
            yield rank, cores, gpus


def _bits(children: Mapping[str, Any], field_path: str, kind: str) -> int:
    if kind not in children:
        return 0
    found: int = _decoded(idset.decode_bits, f"{field_path}.children", children, kind)
    return found


def _entries(execution: Mapping[str, Any]) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Yield each entry with its path in the document and its ranks."""
    for number, entry in enumerate(_get(execution, "execution", "R_lite", list)):
        field_path = f"R_lite[{number}]"
        yield field_path, entry, _decoded(idset.decode, field_path, entry, "rank")


def _hosts(execution: Mapping[str, Any]) -> list[str]:
    try:
        texts = _get(execution, "execution", "nodelist", list, [])
        return [name for text in texts for name in hostlist.decode(str(text))]
    except ParseError as error:
        raise _located("nodelist", error) from error


def _properties(execution: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    table = _get(execution, "execution", "properties", dict, {})
    return {name: _decoded(idset.decode, "properties", table, name) for name in table}


def _decoded(decode: Any, field_path: str, table: Any, key: str) -> Any:
    try:
        return decode(_get(table, field_path, key, str))
    except ParseError as error:
        raise _located(f"{field_path}.{key}", error) from error


def _located(field_path: str, error: ParseError) -> ResourceSetError:
    return error if isinstance(error, ResourceSetError) else ResourceSetError(f"R, {field_path}: {error}")


def _get(table: Any, field_path: str, key: str, kind: Any, default: Any = None) -> Any:
    value = table.get(key, default) if isinstance(table, dict) else None
    if not isinstance(value, kind) or value is True or value is False:
        wanted = _KINDS[kind if isinstance(kind, type) else kind[0]]
        raise ResourceSetError(f"R, {field_path}.{key}: there must be a JSON {wanted}, not {value!r}")
    return value


def check_property(name: str, holders: Iterable[int], ranks: Container[int]) -> None:
    """Raise ResourceSetError for a property that RFC 20 does not allow, or of other ranks than these."""
    if not name or (illegal := _ILLEGAL_PROPERTY.search(name)):
        shown = "an empty name" if not name else f"{illegal[0]!r} in its name" if illegal else ""
        raise ResourceSetError(f"R, property {name!r}: {shown} is not allowed (RFC 20)")
    if unknown := {rank for rank in holders if rank not in ranks}:
        raise ResourceSetError(f"R, property {name!r}: rank {idset.encode(unknown)} is not in R")


# -- writing ---------------------------------------------------------------------------------------------


def alike(
    hosts: Iterable[str], cores: int, gpus: int = 0, properties: Mapping[str, Sequence[int]] | None = None
) -> ResourceSet:
    """Return an R of equal nodes, one for each host, with the core ids 0 … cores-1.

    Raises ResourceSetError.
    """
    core_bits, gpu_bits = (1 << cores) - 1, (1 << gpus) - 1
    given = {name: tuple(ranks) for name, ranks in (properties or {}).items()}
    by_rank = _by_rank(given)
    nothing: frozenset[str] = frozenset()
    nodes = (
        Node(rank, host, core_bits, gpu_bits, by_rank.get(rank, nothing)) for rank, host in enumerate(hosts)
    )
    made = ResourceSet(tuple(nodes), given)
    check(made)
    return made


def dumps(resources: R) -> str:
    """Return an R as one line of JSON."""
    return json.dumps(resources) + "\n"


def to_dict(resources: ResourceSet) -> R:
    """Return an R as its JSON object; equal nodes share an entry."""
    by_children: dict[RankResources, list[int]] = {}
    for node in resources.nodes:
        by_children.setdefault((node.cores, node.gpus), []).append(node.rank)
    execution: R = {
        "R_lite": [
            {"rank": idset.encode(ranks), "children": children_of(cores, gpus)}
            for (cores, gpus), ranks in by_children.items()
        ],
        "nodelist": [hostlist.encode(resources.hosts)] if resources.nodes else [],
    }
    if resources.nslots is not None:
        execution["nslots"] = resources.nslots
    if resources.properties:
        execution["properties"] = {name: idset.encode(ranks) for name, ranks in resources.properties.items()}
    execution["starttime"], execution["expiration"] = resources.starttime, resources.expiration
    made: R = {"version": 1, "execution": execution}
    return made if resources.scheduling is None else {**made, "scheduling": dict(resources.scheduling)}


def in_flux_order(resources: R) -> R:
    """Return an R with the order of keys that `flux R` prints: times before hosts, GPUs before cores."""
    execution = dict(resources["execution"])
    hosts = execution.pop("nodelist")
    entries = [
        {**entry, "children": dict(sorted(entry["children"].items(), reverse=True))}
        for entry in execution["R_lite"]
    ]
    return {**resources, "execution": {**execution, "R_lite": entries, "nodelist": hosts}}


def encode(
    nodes: Sequence[Node] | Mapping[int, Node],
    allocation: Mapping[int, RankResources],
    *,
    nslots: int | None = None,
    starttime: float = 0.0,
    expiration: float = 0.0,
) -> R:
    """Return the R, as a JSON object, of an allocation on these nodes, given by rank."""
    given = tuple(
        Node(rank, nodes[rank].host, cores, gpus, nodes[rank].properties)
        for rank, (cores, gpus) in sorted(allocation.items())
    )
    properties: dict[str, list[int]] = {}
    for node in given:
        for name in sorted(node.properties):
            properties.setdefault(name, []).append(node.rank)
    encoded = {name: tuple(ranks) for name, ranks in properties.items()}
    return to_dict(ResourceSet(given, encoded, nslots, starttime, expiration))


def update_of(document: R) -> R:
    """Return what an event `resource-update` has of a job's R: what else does not change."""
    return {key: document["execution"][key] for key in ("R_lite", "nodelist", "nslots")}


def reranked(document: R) -> R:
    """Return a job's R for an instance inside of it: its ranks begin at 0. Raises ResourceSetError."""
    found = read(document)
    new = {node.rank: number for number, node in enumerate(found.nodes)}
    nodes = tuple(node._replace(rank=new[node.rank]) for node in found.nodes)
    properties = {
        name: tuple(new[rank] for rank in ranks if rank in new) for name, ranks in found.properties.items()
    }
    return to_dict(found._replace(nodes=nodes, properties=properties, nslots=None))


def summary(allocation: Mapping[int, RankResources]) -> str:
    """Return the short form that Flux annotates: rank[0-1]/core[0-3]."""
    by_children: dict[RankResources, list[int]] = {}
    for rank, taken in sorted(allocation.items()):
        by_children.setdefault(taken, []).append(rank)
    return " ".join(
        f"rank{idset.bracketed(ranks)}/"
        + ",".join(f"{kind}{_shown(text)}" for kind, text in children_of(*taken).items())
        for taken, ranks in by_children.items()
    )


def counts(nodes: Iterable[Node]) -> tuple[int, int, int]:
    """Return how many nodes, cores and GPUs these are."""
    listed = list(nodes)
    cores, gpus = (idset.size_of(n.cores) for n in listed), (idset.size_of(n.gpus) for n in listed)
    return len(listed), sum(cores), sum(gpus)


def children_of(cores: int, gpus: int) -> dict[str, str]:
    """Return the resources of a rank as R writes them, from the bits of its cores and GPUs."""
    return {kind: idset.encode_bits(bits) for kind, bits in (("core", cores), ("gpu", gpus)) if bits}


def _shown(text: str) -> str:
    return text if text.isdigit() else f"[{text}]"
