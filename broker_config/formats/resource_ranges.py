"""R (RFC 20) of an instance with many hosts, written from ranges of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import host_ranges, hostlist, idset, resource_set
from broker_config.formats.errors import ResourceSetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_config.formats.host_ranges import HostRange
    from broker_config.formats.resource_set import R


class AlikeRanks(NamedTuple):
    """Ranks with as many cores and GPUs each, from the id 0 on."""

    ranks: Sequence[range]
    """Ascending."""
    cores: int
    gpus: int = 0


def of_ranges(
    hosts: Sequence[HostRange], shapes: Sequence[AlikeRanks], properties: Mapping[str, Sequence[int]]
) -> R:
    """Return the R of these hosts as its JSON object, an entry for each shape, in this order.

    Nothing is made for each host. Together the shapes have each rank once. Raises ResourceSetError.
    """
    count = host_ranges.total(hosts)
    if not count:
        raise ResourceSetError("R holds no node")
    if not all(each.cores for each in shapes):
        raise ResourceSetError("R gives its nodes no core: every node needs at least one")
    for name, holders in properties.items():
        resource_set.check_property(name, holders, range(count))
    execution: R = {
        "R_lite": [
            {
                "rank": idset.encode_ranges(each.ranks),
                "children": resource_set.children_of((1 << each.cores) - 1, (1 << each.gpus) - 1),
            }
            for each in shapes
        ],
        "nodelist": [hostlist.encode_ranges(hosts)],
    }
    if properties:
        execution["properties"] = {name: idset.encode(ranks) for name, ranks in properties.items()}
    return {"version": 1, "execution": {**execution, "starttime": 0.0, "expiration": 0.0}}
