"""What an administrator sets of nodes, and of clusters, that are made for bursts, for every cloud."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import Any

from pydantic import Field

from burst.planning import money
from burst.providers.cloud_machines import PricedMachine, twice
from burst.providers.kubernetes.pod_settings import PodSettings, Texts
from burst.providers.kubernetes.settings import KubernetesSettings, MachineOffer
from minicluster.document.bursting import AmountText  # noqa: TC001 - as above
from minicluster.document.record import Record

OWN_NAMESPACE = "default"
"""The namespace of pods in a cluster that is made for a burst: there is no other one."""
_ABSENT = ("existing", "image_pull_secrets", "priority_class", "runtime_class", "service_account")
"""What settings name that a cluster has which was made just now."""


class PoolMachine(PricedMachine):
    """A type of machine of which nodes are made, and what a broker has there."""

    requests: Texts = Field(
        default_factory=dict,
        description="What a broker requests and is limited to, such as cpu: less than the machine has, as"
        " some of it is the node's own. Absent: as in the MiniCluster.",
    )


class ClusterCreation(Record):
    """A cluster that is made for one burst, and deleted after it. Networks and roles have to be there."""

    fee_per_hour: AmountText = Field(
        description="What a cluster costs an hour besides nodes, in the budgets' currency, such as `0.10`."
    )
    ready_seconds: float = Field(
        900.0, description="How long it takes until nodes can be made in it.", gt=0, le=7200
    )

    @property
    def fee(self) -> int:
        """What an hour costs, in micro-units."""
        return money.amount(self.fee_per_hour)


def by_name(cluster: Any) -> Any:
    """Return a cluster of the settings as a mapping: one that is there may be its name alone."""
    return {"name": cluster} if isinstance(cluster, str) else cluster


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


def creation_problem(settings: NodePoolSettings) -> str:
    """Return why settings of pods are none for clusters that are made; empty if all is well."""
    if settings.namespace != OWN_NAMESPACE:
        return f"namespace: a cluster that is made has no {settings.namespace}; right is {OWN_NAMESPACE}"
    if settings.kubeconfig is not None or settings.context:
        return "kubeconfig: a cluster that is made has none: right would be none, nor a context"
    names = (PodSettings.model_fields[each].alias for each in _ABSENT if getattr(settings, each))
    if found := ", ".join(map(str, names)):
        return f"{found}: a cluster that is made has nothing to name there"
    return ""
