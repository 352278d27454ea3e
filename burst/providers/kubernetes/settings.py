"""What an administrator sets of a Kubernetes cluster in which bursts run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from burst.errors import AmountInvalid
from burst.planning import money
from burst.planning.records import NO_LIMIT, NodeShape, Offer
from burst.providers.kubernetes.pod_settings import PodSettings, Texts
from minicluster.document.pod import Toleration  # noqa: TC001 - pydantic reads the annotations
from minicluster.document.record import Record


def _amount(text: str) -> str:
    try:
        money.amount(text)
    except AmountInvalid as error:
        raise ValueError(str(error)) from error
    return text


class MachineOffer(Record):
    """One kind of nodes that the cluster has, or makes when pods ask for them."""

    machine: str = Field(description="Its name in plans, budgets and metrics.", min_length=1)
    cores: int = Field(description="Cores that a broker has there.", ge=1)
    gpus: int = Field(0, description="GPUs that a broker has there.", ge=0)
    price: Annotated[str, AfterValidator(_amount)] = Field(
        "0", description="For a node and hour, in the budgets' currency, such as 0.40."
    )
    most: int = Field(NO_LIMIT, description="How many nodes of it there may be.", ge=1)
    ready_seconds: float = Field(120.0, description="How long it takes until its nodes can join.", ge=0)
    spot: bool = Field(False, description="Whether its nodes may be taken away at any time.")
    node_selector: Texts = Field(default_factory=dict, description="Labels that its nodes have.")
    tolerations: tuple[Toleration, ...] = Field((), description="For the taints of its nodes.")
    requests: Texts = Field(
        default_factory=dict,
        description="What a broker requests and is limited to, such as cpu; absent: as in the MiniCluster.",
    )


class KubernetesSettings(PodSettings):
    """A namespace of a Kubernetes cluster, what pods have there, and the machines of its nodes."""

    offers: tuple[MachineOffer, ...] = Field(description="Machines for bursts.", min_length=1)

    def model_post_init(self, _context: Any) -> None:
        """Raise ValueError where two machines have one name."""
        names = [each.machine for each in self.offers]
        if twice := sorted({each for each in names if names.count(each) > 1}):
            raise ValueError(f"offers: {', '.join(twice)} is there twice; each machine has a name of its own")

    def machine(self, name: str) -> MachineOffer | None:
        """Return the machine of a name."""
        return next((each for each in self.offers if each.machine == name), None)


def offer(provider: str, machine: MachineOffer) -> Offer:
    """Return a machine as plans have it."""
    shape = NodeShape(machine.cores, machine.gpus)
    price = money.amount(machine.price)
    return Offer(provider, machine.machine, shape, price, machine.most, machine.ready_seconds, machine.spot)
