"""What a jobspec (V1: RFC 14, RFC 25) and an R (RFC 20) say, as far as numbers are made of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from broker_config import idset
from metrics_api.numbers.constraints import parse
from metrics_api.numbers.records import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    JSON = dict[str, Any]


class Asked(NamedTuple):
    """What a job asks for: `duration` in seconds is 0 without a limit, `queue` and `group` may be empty."""

    request: Request
    duration: float
    queue: str
    group: str


def asked(jobspec: Any) -> Asked:
    """Read a jobspec. Whatever is odd about it (the instance admitted it) counts as little as it can."""
    attributes = _object(_object(jobspec).get("attributes"))
    system, user = _object(attributes.get("system")), _object(attributes.get("user"))
    counts = _counts(_object(jobspec).get("resources"))
    elastic = _object(user.get("elastic"))
    least, most = _whole(elastic.get("min")), _whole(elastic.get("max"))
    request = Request(
        nodes=counts.get("node", 0),
        slots=counts.get("slot", 1),
        cores=counts.get("core", 1),
        gpus=counts.get("gpu", 0),
        exclusive=bool(counts.get("exclusive", 0)),
        constraint=parse(system.get("constraints")),
        least=least if 0 < least <= most else 0,
        most=most if 0 < least <= most else 0,
    )
    group = user.get("group")
    return Asked(
        request,
        seconds(system.get("duration")),
        str(system.get("queue") or ""),
        group if isinstance(group, str) else "",
    )


def seconds(value: Any) -> float:
    """Return a time limit; 0 where there is none."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0.0


def _counts(vertices: Any) -> dict[str, int]:
    """Walk node → slot → core and gpu."""
    found: dict[str, int] = {}
    for vertex in vertices if isinstance(vertices, list) else ():
        if isinstance(vertex, dict):
            found[str(vertex.get("type"))] = _whole(vertex.get("count"))
            if vertex.get("exclusive") is True:
                found["exclusive"] = 1
            found.update(_counts(vertex.get("with")))
    return found


def holding(resources: Any) -> tuple[tuple[int, int, int], ...]:
    """Return what an R gives on each rank: (rank, cores, GPUs)."""
    return tuple((rank, len(cores), len(gpus)) for rank, cores, gpus in lite(resources))


def lite(resources: Any) -> Iterator[tuple[int, frozenset[int], frozenset[int]]]:
    """Return, for each rank of an R, the ids of its cores and of its GPUs."""
    for entry in _object(_object(resources).get("execution")).get("R_lite") or ():
        children = entry.get("children", {})
        cores, gpus = _ids(str(children.get("core", ""))), _ids(str(children.get("gpu", "")))
        for rank in idset.decode(str(entry["rank"])):
            yield rank, cores, gpus


@lru_cache(maxsize=1024)
def _ids(text: str) -> frozenset[int]:
    """Decode the ids on one node: few are different from one another."""
    return frozenset(idset.decode(text))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
