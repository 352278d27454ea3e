"""What an administrator sets of nodes that are made for bursts: the same words for every cloud."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import Any

from pydantic import Field

from burst.providers.cloud_machines import PricedMachine, twice
from burst.providers.kubernetes.pod_settings import PodSettings, Texts
from burst.providers.kubernetes.settings import KubernetesSettings, MachineOffer


class PoolMachine(PricedMachine):
    """A type of machine of which nodes are made, and what a broker has there."""

    requests: Texts = Field(
        default_factory=dict,
        description="What a broker requests and is limited to, such as cpu: less than the machine has, as"
        " some of it is the node's own. Absent: as in the MiniCluster.",
    )


class NodePoolSettings(PodSettings):
    """A cluster in which each burst has nodes of its own, and what pods have there."""

    kubeconfig: Path | None = Field(
        None,
        description="File of the administrator's, with its certificates and token inside; plug-ins that run"
        " programs are refused. Absent: the cluster is reached with the cloud's credentials.",
    )
    machines: tuple[PoolMachine, ...] = Field(
        description="The price table: machines that bursts may have.", min_length=1
    )

    def model_post_init(self, _context: Any) -> None:
        """Raise ValueError where two rows have one machine."""
        if problem := twice(self.machines):
            raise ValueError(problem)


def pod_settings(settings: NodePoolSettings) -> KubernetesSettings:
    """Return the settings of the provider `kubernetes` that runs the pods: there they cost nothing."""
    fields = {name: getattr(settings, name) for name in PodSettings.model_fields}
    return KubernetesSettings(**fields, offers=tuple(map(_offer, settings.machines)))


def _offer(machine: PoolMachine) -> MachineOffer:
    return MachineOffer(
        machine=machine.machine,
        cores=machine.cores,
        gpus=machine.gpus,
        most=machine.most,
        requests=machine.requests,
    )
