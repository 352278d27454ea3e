"""A MiniCluster whose bursts are machines on the network of its cluster, as a burst service joins them."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.clusters.served_clusters import ServedClusters
from burst.errors import LeadAway
from burst.joining.machines import MachineSettings, boot_metadata, machine_name
from burst.providers.provider import WantedBurst
from minicluster.instance.records import JobRequest
from minicluster.kube_client.access import Access
from minicluster.lead_client.purpose_keys import BURST, PurposeKeys
from minicluster.plan.constants import LEAD_API_PORT
from tests.burst.machines.booted import Machines
from tests.devcluster import node_images, until
from tests.devcluster.images import PATH
from tests.kubernetes.kept_instance import GONE, KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from burst.clusters.records import BurstingCluster
    from burst.joining.records import JoinSettings, MachineRoute
    from minicluster.document import MiniCluster
    from minicluster.instance.port import Instance
    from tests.burst.machines.booted import BootedMachine
    from tests.devcluster import ControlPlane
    from tests.kubernetes.live import Live
    from tests.kubernetes.operators import Operator

USER = 1234
"""No image has this user: machines make it."""
SLOT = {"name": "burst-0", "size": 2, "cores": 1}


class OperatorKeys:
    """The keys that this operator publishes for bursts."""

    trouble = ""

    def __init__(self, operator: Operator) -> None:
        self._keys = operator.keys.purpose(BURST)

    def current(self) -> tuple[PurposeKeys, ...]:
        return (self._keys,)

    def refused(self) -> None:
        """Do nothing: there are no others."""


@dataclass(frozen=True)
class MachineLead:
    """A MiniCluster of one broker, and machines that may join it."""

    live: Live
    nodes: ControlPlane
    source: ServedClusters
    machines: Machines
    label: str
    path: tuple[str, ...]
    """Where its image has Flux."""

    @property
    def cluster(self) -> BurstingCluster:
        """It, as a service finds it."""
        [found] = self.source.clusters()
        return found

    def join(self) -> JoinSettings:
        """Return how machines join it, once its lead answers at its address."""

        def joined() -> JoinSettings | None:
            found = self.cluster.join_machines
            assert found is not None
            try:
                return found("burst-0")
            except LeadAway:
                return None

        found = until(joined, "the lead's address", SECONDS)
        assert found is not None
        route = found.machines
        assert route is not None
        until(lambda: answers(route), "the lead's port", SECONDS)
        return found

    def wanted(self, seconds: float = 600.0) -> WantedBurst:
        """Return a burst of two machines that lasts so long."""
        end = time.time() + seconds
        uid = self.cluster.uid
        return WantedBurst(self.label, "here", 2, "small", False, end, uid, "burst-0")

    def boot(self, number: int, metadata: Mapping[str, str]) -> BootedMachine:
        """Boot a machine with this metadata."""
        made = self.machines.start(machine_name(self.label, number), metadata)
        made.boot()
        return made

    def metadata(self, join: JoinSettings, now: float | None = None) -> dict[str, str]:
        """Return what machines of its burst get."""
        settings = MachineSettings(self.path)
        return dict(boot_metadata(join, self.wanted(), settings, time.time() if now is None else now))

    @property
    def instance(self) -> KeptInstance:
        """A connection to its instance."""
        return KeptInstance(self.nodes.kubeconfig, self.live.namespace, self.live.name)

    def up(self) -> set[str]:
        """Return the hosts that are up."""
        try:
            return set(self.instance.ask(lambda connected: connected.nodes.resources()).up.hosts)
        except GONE:
            return set()

    def submit(self, *command: str) -> int:
        """Submit a burstable job, and move it to the burst as a service does; return its id."""
        request = JobRequest(
            command,
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            cwd="/",
            urgency=0,
            attributes={"burstable": True},
        )

        def submit(connected: Instance) -> int:
            jobid = connected.jobs.submit(request)
            connected.queues.update(jobid, queue="burst-0")
            connected.queues.start("burst-0")
            connected.jobs.set_urgency(jobid, 16)
            return jobid

        return self.instance.ask(submit)

    def result(self, jobid: int) -> tuple[int | None, str]:
        """Wait for a job's end; return its exit code and what it has printed."""

        def wait(connected: Instance) -> tuple[int | None, str]:
            job = connected.jobs.wait(jobid, SECONDS)
            return job.returncode, b"".join(each.data for each in connected.jobs.output(jobid)).decode()

        return self.instance.ask(wait)


def answers(route: MachineRoute) -> bool:
    """Return whether somebody listens at a lead's address: it is known before its nodes pass it on."""
    try:
        with socket.create_connection((route.address, route.port), SECONDS):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def lead(
    live: Live, nodes: ControlPlane, operator: Operator, folder: Path, **bursting: Any
) -> Iterator[MachineLead]:
    """Have a MiniCluster whose bursts are machines, and none of these at the end."""
    flux = {"container": {"disable": True}, "bursting": {"clusters": [SLOT]}}
    policy = {"dryRun": False, "expose": "nodePort", "fenceSeconds": 4, **bursting}
    user = {"securityContext": {"runAsUser": USER, "runAsGroup": USER, "runAsNonRoot": True}}
    small = {"resources": {"limits": {"cpu": "1"}}}
    live.create(container=small, size=1, flux=flux, bursting=policy, pod=user).joined(1)
    image = next(each for each in node_images.build() if each.name == live.image)
    address = live.pods.running(0)["status"]["podIP"]

    def endpoint(_: MiniCluster) -> tuple[str, int]:
        return address, LEAD_API_PORT

    access = Access(str(nodes.kubeconfig), nodes.admin.context or "")
    source = ServedClusters(access, OperatorKeys(operator), (live.namespace,), endpoint)
    with Machines(nodes, folder, image) as machines:
        path = tuple(filter(None, image.path.removesuffix(PATH).split(":")))
        yield MachineLead(live, nodes, source, machines, f"aa{secrets.token_hex(4)}", path)
    source.clusters()
    source.withdraw(frozenset())
    source.publish({})
