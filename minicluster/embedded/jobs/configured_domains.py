"""The NUMA domains that broker.toml gives all ranks, for tests and for machines that do not tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import idset
from broker_config.formats.errors import IdsetError
from minicluster.embedded.errors import ConfigurationError
from queue_policies.errors import InvalidDomains
from queue_policies.nodes.domains import checked_domains

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_config.formats.resource_set import Node
    from minicluster.embedded.ports import JSON


def configured_domains(config: JSON, nodes: Iterable[Node]) -> dict[int, tuple[int, ...]] | None:
    """Return by rank the NUMA domains of `[minicluster] domains`, as bits of cores; None: brokers find them.

    It names the cores of R, the same for every rank: "0-1;2-3" are two domains. Raises ConfigurationError
    where a core is in two of them, or in none.
    """
    text = config.get("minicluster", {}).get("domains")
    if text is None:
        return None
    name = f"broker.toml, [minicluster] domains = {text!r}"
    if not isinstance(text, str):
        raise ConfigurationError(f'{name}: the cores of each domain are right, such as "0-1;2-3"')
    try:
        given = [idset.decode_bits(part.strip()) for part in text.split(";")]
        return {node.rank: checked_domains(node.host, node.cores, given) for node in nodes}
    except (IdsetError, InvalidDomains) as error:
        raise ConfigurationError(f"{name}: {error}") from error
