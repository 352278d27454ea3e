"""The queues of the instance's configuration, and the nodes that their jobs may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import constraints
from minicluster.embedded.settings import job_defaults

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from broker_config.formats.resource_set import Node
    from minicluster.embedded.client import JSON, BrokerClient


class ConfiguredQueues:
    """The named queues, in the order of the configuration; none: all jobs are in an anonymous one."""

    def __init__(self, config: JSON) -> None:
        self._requires = {
            name: tuple(table.get("requires", ())) for name, table in config.get("queues", {}).items()
        }
        self.default: str | None = job_defaults(config).get("queue")
        """The queue of a job that names none."""

    @classmethod
    def of(cls, client: BrokerClient) -> ConfiguredQueues:
        """Return those of an instance."""
        return cls(client.rpc("config.get"))

    @property
    def names(self) -> list[str]:
        """The names of the queues."""
        return list(self._requires)

    def suiting(self, properties: AbstractSet[str]) -> list[str]:
        """Return the queues whose jobs may use nodes with these properties."""
        return [name for name, required in self._requires.items() if properties >= set(required)]

    def nodes(self, name: str | None, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes that jobs of a queue may use; None is the anonymous one."""
        required = self._requires.get(name or "", ())
        wanted = constraints.parse({"properties": list(required)})
        return [node for node in nodes if constraints.matches(node, wanted)]
