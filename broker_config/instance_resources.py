"""The R of an instance (RFC 20), from its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config import burst_queues, own_toml
from broker_config.formats import host_ranges, idset, resource_ranges, resource_set
from broker_config.formats.burst_names import BURST, LOCAL
from broker_config.formats.resource_ranges import AlikeRanks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_config.burst_slots import HostSlot
    from broker_config.formats.resource_set import R
    from broker_config.settings import BrokerSettings


class _Shape(NamedTuple):
    cores: int | None
    """None: the start script finds it out."""
    gpus: int


def render(settings: BrokerSettings) -> str:
    """Return the text of the instance's R: the cores and GPUs of every bootstrap host.

    R must cover every host, or Flux stops ("Number of hosts (8) is greater than node count (4)"). So the
    hosts are those of broker.toml, also of a user's own. Raises BrokerConfigError or ParseError if Flux would
    not start from it.
    """
    return resource_set.dumps(of_settings(settings))


def of_settings(settings: BrokerSettings) -> R:
    """Return the instance's R: all ranks, each with the cores 0 … cores-1 and the GPUs 0 … gpus-1.

    If the start script finds out the number of cores, it is 1 here, in the first entries (see `detected`).
    Slots have properties, and their own cores and GPUs.
    """
    hosts = own_toml.own(settings.broker_toml).hosts or settings.host_ranges
    slots = burst_queues.own_slots(settings)
    shapes = [
        AlikeRanks(ranks, 1 if shape.cores is None else shape.cores, shape.gpus)
        for shape, ranks in _shapes(settings, slots, host_ranges.total(hosts)).items()
    ]
    properties: Mapping[str, Sequence[int]] = {
        name: idset.decode(ranks) for name, ranks in settings.node.properties.items()
    }
    return resource_ranges.of_ranges(hosts, shapes, {**properties, **_properties(slots)})


def detected(settings: BrokerSettings) -> int:
    """Return how many entries, the first ones, have the number of cores that the start script finds out."""
    found = _shapes(settings, burst_queues.own_slots(settings), 1)
    return sum(shape.cores is None for shape in found)


def _shapes(settings: BrokerSettings, slots: Sequence[HostSlot], total: int) -> dict[_Shape, list[range]]:
    """Return the ranks by shape; first those whose cores are to be found out, and the own ones."""
    own = _Shape(settings.node.cores, settings.node.gpus)
    found = {own: [range(slots[0].first_rank if slots else total)]}
    for each in slots:
        shape = _Shape(
            own.cores if each.cores is None else each.cores, own.gpus if each.gpus is None else each.gpus
        )
        found.setdefault(shape, []).append(each.ranks)
    return dict(sorted(found.items(), key=lambda entry: entry[0].cores is not None))


def _properties(slots: Sequence[HostSlot]) -> dict[str, range]:
    if not slots:
        return {}
    first = slots[0].first_rank
    return {
        LOCAL: range(first),
        BURST: range(first, slots[-1].ranks.stop),
        **{each.name: each.ranks for each in slots},
    }
