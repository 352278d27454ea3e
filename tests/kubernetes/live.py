"""MiniClusters that live on real nodes, as a test looks at them."""

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.devcluster import Api, ControlPlane, node_images, until
from tests.devcluster.nodes import Node
from tests.kubernetes import operators

SECONDS = 300.0  # brokers join within 2 s; a machine that does other things as well takes longer
BROKERS = "app.kubernetes.io/component=broker"
INDEX = "batch.kubernetes.io/job-completion-index"
BROKER_PORT = 8050
DOCUMENT = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "spec": {
        "size": 2,
        "containers": [{"image": node_images.EMBEDDED}],
        "flux": {"container": {"disable": True}},
        "pod": {"securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True}},
    },
}


@dataclass(frozen=True, slots=True)
class BrokerPods:
    """The pods of the one MiniCluster of a namespace."""

    api: Api
    namespace: str

    def by_rank(self) -> dict[int, dict[str, Any]]:
        """Return the brokers' pods that stay, by rank; of one that was replaced, the replacement."""
        found = self.api.items(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=BROKERS)
        found.sort(
            key=lambda each: (each["status"].get("phase") != "Failed", each["metadata"]["creationTimestamp"])
        )
        return {
            int(each["metadata"]["labels"][INDEX]): each
            for each in found
            if "deletionTimestamp" not in each["metadata"]
        }

    def running(self, rank: int) -> dict[str, Any]:
        """Wait until the pod of a rank runs, and return it."""

        def poll() -> dict[str, Any]:
            found = self.by_rank().get(rank, {})
            return found if found.get("status", {}).get("phase") == "Running" else {}

        return until(poll, f"the pod of rank {rank} to run", SECONDS)

    def log(self, rank: int, container: str = "flux") -> str:
        """Return what a broker's container has written."""
        name = self.by_rank()[rank]["metadata"]["name"]
        resource_path = f"/api/v1/namespaces/{self.namespace}/pods/{name}/log?container={container}"
        return self.api.send("GET", resource_path)[1].decode()

    def logs(self) -> str:
        """Return what all brokers have written, for the message of a test that fails."""
        logs = []
        for rank in sorted(self.by_rank()):
            with contextlib.suppress(Exception):
                logs.append(f"--- rank {rank}\n{self.log(rank)}")
        return "\n".join(logs)

    def processes(self, nodes: ControlPlane, rank: int) -> list[int]:
        """Return the first process of each container of a broker's pod, by its pid on this machine."""
        ours = self.namespace, self.running(rank)["metadata"]["name"]
        found = self.node(nodes, rank).pods()
        return [each.pid for each in found if (each.namespace, each.pod) == ours]

    def node(self, nodes: ControlPlane, rank: int) -> Node:
        """Return the node on which a broker's pod runs."""
        name = self.running(rank)["spec"]["nodeName"]
        return next(each for each in nodes.nodes if each.name == name)

    def replaced(self, rank: int, uid: str) -> None:
        """Wait until a broker has another pod than that one."""
        until(
            lambda: self.by_rank().get(rank, {"metadata": {"uid": uid}})["metadata"]["uid"] != uid,
            f"another pod of rank {rank}",
            SECONDS,
        )

    def delete(self, rank: int) -> str:
        """Delete a broker's pod, as a user does; return its name."""
        name = str(self.by_rank()[rank]["metadata"]["name"])
        self.api.delete(f"/api/v1/namespaces/{self.namespace}/pods/{name}")
        return name

    def evict(self, rank: int) -> None:
        """Have a broker's pod evicted, as `kubectl drain` does."""
        about = {"name": self.by_rank()[rank]["metadata"]["name"], "namespace": self.namespace}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{about['name']}/eviction"
        self.api.create(path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about})


@dataclass(frozen=True, slots=True)
class Live:
    """A MiniCluster in a namespace of its own."""

    api: Api
    namespace: str
    name: str = "mc"
    image: str = node_images.EMBEDDED

    @property
    def pods(self) -> BrokerPods:
        """Its brokers' pods."""
        return BrokerPods(self.api, self.namespace)

    @property
    def item(self) -> dict[str, Any]:
        """The document and its status as they are now."""
        return operators.read(self.api, self.namespace, self.name)

    @property
    def status(self) -> dict[str, Any]:
        """The status as it is now."""
        found: dict[str, Any] = self.item.get("status") or {}
        return found

    def create(self, container: dict[str, Any] | None = None, **spec: Any) -> "Live":
        """Create it: two brokers of the engine's image, with other fields where they are given."""
        document = copy.deepcopy(DOCUMENT) | {"metadata": {"name": self.name}}
        document["spec"] |= spec
        document["spec"]["containers"][0] |= {"image": self.image, **(container or {})}
        self.api.create(operators.path(self.namespace), document)
        return self

    def change(self, **spec: Any) -> None:
        """Change fields of its spec."""
        self.api.merge(operators.path(self.namespace, self.name), {"spec": spec})

    def delete(self) -> None:
        """Delete it."""
        self.api.delete(operators.path(self.namespace, self.name))

    def until(self, seconds: float = SECONDS, **wanted: tuple[str, str]) -> dict[str, Any]:
        """Wait until conditions are as wanted (type to status and reason); return its status."""
        item = operators.settled(self.api, self.namespace, self.name, seconds, **wanted)
        found: dict[str, Any] = item["status"]
        return found

    def joined(self, count: int | None = None, seconds: float = SECONDS) -> dict[str, Any]:
        """Wait until all brokers (of a size) have joined, and work has begun."""

        def poll() -> dict[str, Any]:
            status = self.status
            found = operators.conditions({"status": status})
            begun = found.get("Running", ("", ""))[1] in {"ReadyForWork", "CommandRunning"}
            ready = begun and found["BrokersReady"] == ("True", "AllJoined")
            return status if ready and count in {None, status["readyBrokers"]} else {}

        try:
            return until(poll, f"{count or 'all'} brokers to join", seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.picture()}") from error

    def ended(self) -> dict[str, Any]:
        """Wait until it has succeeded or failed; return its status."""
        try:
            return until(
                lambda: self.status if self.phase in {"Succeeded", "Failed"} else {}, "its end", SECONDS
            )
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.picture()}") from error

    def picture(self) -> str:
        """Describe it for the message of a test that fails; a report that is cut short keeps the end."""
        found = self.api.items(f"/api/v1/namespaces/{self.namespace}/pods")
        pods = "\n".join(f"{each['metadata']['name']}: {state_of(each)}" for each in found)
        jobs = self.api.items(f"/apis/batch/v1/namespaces/{self.namespace}/jobs")
        events = self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        lines = [f"{one['regarding']['name']}: {one['reason']}: {one['note']}" for one in events]
        nodes = "\n".join(map(readiness_of, self.api.items("/api/v1/nodes")))
        parts = {"logs": self.pods.logs(), "Events": "\n".join(lines), "nodes": nodes, "pods": pods}
        parts |= {"Job": [each["status"] for each in jobs], "status": self.status}
        return "\n".join(f"--- its {name}:\n{part}" for name, part in parts.items())

    @property
    def phase(self) -> str:
        """The one word for people."""
        return str(self.status.get("phase", ""))

    def message(self, type_: str) -> str:
        """Return the present message of a condition."""
        return operators.message(self.item, type_)


def state_of(pod: dict[str, Any]) -> str:
    """Describe a pod's state: its phase, since when it is being deleted, and its containers' states."""
    status, since = pod["status"], pod["metadata"].get("deletionTimestamp", "")
    containers = {each["name"]: each["state"] for each in status.get("containerStatuses", ())}
    reasons = [each["message"] for each in status.get("conditions", ()) if each.get("message")]
    return f"{status.get('phase')} {since and f'deleted at {since}'} {containers} {reasons}"


@contextlib.contextmanager
def cordoned(plane: ControlPlane) -> Iterator[None]:
    """Have no pod scheduled; one can still be bound to a node by hand."""
    names = [node.name for node in plane.nodes]
    try:
        for name in names:
            plane.api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
        yield
    finally:
        for name in names:
            plane.api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})


def bind(live: Live, rank: int, node: str) -> None:
    """Put a broker's pod on a node by hand."""
    pod = until(lambda: live.pods.by_rank().get(rank), f"the pod of rank {rank}")
    name = pod["metadata"]["name"]
    live.api.create(
        f"/api/v1/namespaces/{live.namespace}/pods/{name}/binding",
        {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}},
    )


def readiness_of(node: dict[str, Any]) -> str:
    """Describe whether a node is Ready, and what it or the controller that misses it says of that."""
    found = next((one for one in node["status"].get("conditions", ()) if one["type"] == "Ready"), {})
    parts = (str(found.get(field, "")) for field in ("status", "lastTransitionTime", "reason", "message"))
    return f"{node['metadata']['name']}: Ready {' '.join(parts)}"
