"""R, the resource set (RFC 20): what an instance has, or what a job was given.

Source: Flux RFC 20 version 1.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config import broker_toml, hostlist, idset
from broker_config.errors import BrokerConfigError, ResourceSetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_config.settings import BrokerSettings

_ILLEGAL_PROPERTY = re.compile(r"[!&'\"^`|()]")


@dataclass(frozen=True, slots=True)
class Node:
    """What one execution target (broker rank) offers: its host's name, core ids and GPU ids, ascending."""

    rank: int
    host: str
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceSet:
    """R, by ascending rank. `nslots` is in a job's allocation only; times are seconds since 1970, 0 is unset.

    `properties` maps a property to the ranks that have it; `scheduling` is the scheduler's own business.
    """

    nodes: tuple[Node, ...]
    nslots: int | None = None
    properties: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    starttime: float = 0.0
    expiration: float = 0.0
    scheduling: Mapping[str, Any] | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names in the order of ranks."""
        return tuple(node.host for node in self.nodes)

    @property
    def ncores(self) -> int:
        """How many cores there are in all."""
        return sum(len(node.cores) for node in self.nodes)

    @property
    def ngpus(self) -> int:
        """How many GPUs there are in all."""
        return sum(len(node.gpus) for node in self.nodes)


def render(settings: BrokerSettings) -> str:
    """The text of the instance's R: every bootstrap host with the same cores and GPUs.

    R must cover every host, or Flux stops ("Number of hosts (8) is greater than node count (4)"): so the
    hosts are the very ones of broker.toml, the user's own included. Raises BrokerConfigError where Flux would
    not start from it.
    """
    return dumps(of_settings(settings))


def of_settings(settings: BrokerSettings) -> ResourceSet:
    """The instance's resources: ranks 0 … hosts-1, cores 0 … cores-1 and GPUs 0 … gpus-1 on each.

    Where the cores are to be found by the start script, one stands in their place.
    """
    node = settings.node
    properties = {name: idset.decode(ranks) for name, ranks in node.properties.items()}
    hosts = broker_toml.hosts(settings.broker_toml) if settings.broker_toml else settings.hosts
    return of_hosts(hosts, 1 if node.cores is None else node.cores, node.gpus, properties)


def of_hosts(
    hosts: Sequence[str], cores: int, gpus: int = 0, properties: Mapping[str, tuple[int, ...]] | None = None
) -> ResourceSet:
    """Alike nodes, one a host, checked."""
    result = ResourceSet(
        tuple(Node(rank, host, tuple(range(cores)), tuple(range(gpus))) for rank, host in enumerate(hosts)),
        properties=properties or {},
    )
    check(result)
    return result


def check(resources: ResourceSet) -> None:
    """Raises ResourceSetError where Flux would reject `resources`, saying what is wrong with which rank."""
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
        _check_property(name, holders, set(ranks))
    if resources.nslots is not None and resources.nslots < 1:
        raise ResourceSetError(f"R has nslots {resources.nslots}: an allocation has at least 1")
    if resources.starttime and resources.expiration and resources.expiration <= resources.starttime:
        raise ResourceSetError(
            f"R expires at {resources.expiration}, not after its start at {resources.starttime}"
        )


def to_dict(resources: ResourceSet) -> dict[str, Any]:
    """R as RFC 20's JSON object: alike nodes share an entry."""
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for node in resources.nodes:
        alike.setdefault((node.cores, node.gpus), []).append(node.rank)
    execution: dict[str, Any] = {
        "R_lite": [
            {"rank": idset.encode(ranks), "children": _children(cores, gpus)}
            for (cores, gpus), ranks in alike.items()
        ],
        "nodelist": [hostlist.encode(resources.hosts)],
    }
    if resources.nslots is not None:
        execution["nslots"] = resources.nslots
    if resources.properties:
        execution["properties"] = {name: idset.encode(ranks) for name, ranks in resources.properties.items()}
    execution |= {"starttime": resources.starttime, "expiration": resources.expiration}
    result: dict[str, Any] = {"version": 1, "execution": execution}
    return result if resources.scheduling is None else {**result, "scheduling": dict(resources.scheduling)}


def dumps(resources: ResourceSet) -> str:
    """R as one line of JSON."""
    return json.dumps(to_dict(resources)) + "\n"


def loads(text: str) -> ResourceSet:
    """R from JSON text; raises ResourceSetError."""
    try:
        return from_dict(json.loads(text))
    except json.JSONDecodeError as error:
        raise ResourceSetError(f"R is not JSON: {error}") from error


def from_dict(document: Any) -> ResourceSet:
    """R from RFC 20's JSON object, checked; raises ResourceSetError, which names the key."""
    version = _get(document, "R", "version", int)
    if version != 1:
        raise ResourceSetError(f"R has version {version}: only version 1 is known")
    execution = _get(document, "R", "execution", dict)
    hosts = [name for text in _get(execution, "execution", "nodelist", list) for name in _hosts(text)]
    children = sorted(
        (rank, *_ids_of(number, entry))
        for number, entry in enumerate(_get(execution, "execution", "R_lite", list))
        for rank in _idset(f"R_lite[{number}]", entry, "rank")
    )
    if len(hosts) != len(children):
        raise ResourceSetError(f"R names {len(hosts)} hosts in nodelist for {len(children)} ranks in R_lite")
    properties = execution.get("properties", {})
    result = ResourceSet(
        tuple(Node(rank, host, *ids) for host, (rank, *ids) in zip(hosts, children, strict=True)),
        nslots=execution.get("nslots"),
        properties={name: _idset("properties", properties, name) for name in properties},
        starttime=float(execution.get("starttime", 0)),
        expiration=float(execution.get("expiration", 0)),
        scheduling=document.get("scheduling"),
    )
    check(result)
    return result


def _children(cores: tuple[int, ...], gpus: tuple[int, ...]) -> dict[str, str]:
    return {"core": idset.encode(cores)} | ({"gpu": idset.encode(gpus)} if gpus else {})


def _ids_of(number: int, entry: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    place = f"R_lite[{number}].children"
    children = _get(entry, f"R_lite[{number}]", "children", dict)
    return _idset(place, children, "core"), _idset(place, children, "gpu") if "gpu" in children else ()


def _idset(place: str, table: Any, key: str) -> tuple[int, ...]:
    try:
        return idset.decode(_get(table, place, key, str))
    except BrokerConfigError as error:
        raise ResourceSetError(
            f"R, {place}.{key}: {error}" if "R, " not in str(error) else str(error)
        ) from error


def _hosts(text: Any) -> list[str]:
    try:
        return hostlist.decode(str(text))
    except BrokerConfigError as error:
        raise ResourceSetError(f"R, nodelist: {error}") from error


def _get(table: Any, place: str, key: str, kind: type) -> Any:
    value = table.get(key) if isinstance(table, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ResourceSetError(f"R, {place}.{key}: there must be a JSON {_KINDS[kind]}, not {value!r}")
    return value


def _check_property(name: str, holders: tuple[int, ...], ranks: set[int]) -> None:
    if not name or (illegal := _ILLEGAL_PROPERTY.search(name)):
        shown = "an empty name" if not name else f"{illegal[0]!r} in its name" if illegal else ""
        raise ResourceSetError(f"R, property {name!r}: {shown} is not allowed (RFC 20)")
    if unknown := set(holders) - ranks:
        raise ResourceSetError(f"R, property {name!r}: rank {idset.encode(unknown)} is not in R")


_KINDS = {int: "number", dict: "object", list: "array", str: "string"}
