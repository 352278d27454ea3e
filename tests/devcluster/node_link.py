"""How a node is connected to the others: by a cable to the cluster's bridge, and routes between pods."""

from dataclasses import dataclass

from tests.devcluster import network
from tests.devcluster.node_config import NodeSettings
from tests.devcluster.processes import Guardian


@dataclass(frozen=True, slots=True)
class Link:
    """A node's connection, to be cut and mended."""

    settings: NodeSettings
    guardian: Guardian

    def cut(self) -> None:
        """Pull the cable: the node and its pods are cut off from all others."""
        self.cable("down")

    def mend(self) -> None:
        """Plug the cable in again."""
        self.cable("up")

    def cable(self, state: str) -> None:
        """Change the cable's state at the bridge's end; a node that is off has none."""
        network.commands([f"link set {self.settings.name} {state}"], self.guardian.pids()[network.RACK])

    def cut_from(self, other: "Link") -> None:
        """Lose all that goes between the pods of two nodes; the nodes themselves reach each other."""
        network.disconnect(self.settings.network, self.pid, [other.settings.number])
        network.disconnect(other.settings.network, other.pid, [self.settings.number])

    def mend_with(self, other: "Link") -> None:
        """End what `cut_from` began."""
        network.connect(self.settings.network, self.pid, [other.settings.number])
        network.connect(other.settings.network, other.pid, [self.settings.number])

    @property
    def pid(self) -> int:
        """The process that holds the node's namespaces."""
        return self.guardian.pids()[self.settings.name]
