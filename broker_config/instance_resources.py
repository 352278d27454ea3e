"""The R of an instance (RFC 20), from its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config import broker_toml
from broker_config.formats import idset, resource_set

if TYPE_CHECKING:
    from broker_config.formats.resource_set import R
    from broker_config.settings import BrokerSettings


def render(settings: BrokerSettings) -> str:
    """Return the text of the instance's R: every bootstrap host with the same cores and GPUs.

    R must cover every host, or Flux stops ("Number of hosts (8) is greater than node count (4)"). So the
    hosts are those of broker.toml, also of a user's own. Raises BrokerConfigError or ParseError if Flux would
    not start from it.
    """
    return resource_set.dumps(of_settings(settings))


def of_settings(settings: BrokerSettings) -> R:
    """Return the instance's R: ranks 0 … hosts-1, cores 0 … cores-1 and GPUs 0 … gpus-1 on each.

    If the start script finds out the number of cores, it is 1 here.
    """
    node = settings.node
    properties = {name: idset.decode(ranks) for name, ranks in node.properties.items()}
    hosts = broker_toml.own(settings.broker_toml).hosts or settings.host_ranges
    return resource_set.of_ranges(hosts, 1 if node.cores is None else node.cores, node.gpus, properties)
