"""A Google Kubernetes Engine that is none: clusters with node pools, whose machines Compute Engine lists.

Calls and faults have names such as `container.nodePools.create`. The cluster's API server is none of it:
where there is one, `server` and `authority` name it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.rehearsal.cloud import CLUSTER as CLUSTER_KIND
from burst.rehearsal.cloud import CloudCapacityError, CloudFault, CloudGroup
from burst.rehearsal.compute_operations import timestamp
from burst.rehearsal.google_account import PROJECT, GoogleFrontend, refusal
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.rehearsal.cloud import CloudMachine, RehearsedCloud
    from burst.rehearsal.google_account import FakeGoogleAccount
    from burst.rehearsal.server import CloudRequest

CREATE, DELETE = "container.nodePools.create", "container.nodePools.delete"
GET, LIST = "container.nodePools.get", "container.nodePools.list"
LOCATION = r"/v1/(projects/[\w.:-]+/locations/[\w-]+)"
"""A location in the path of a request."""
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")


@dataclass(slots=True)
class _ClusterOperation:
    name: str
    kind: str
    cluster: str
    """Its path."""
    target: str
    begun: float
    group: CloudGroup

    def done(self) -> float:
        """Return when it is done, which may be later than now."""
        if self.kind.startswith("CREATE_"):
            return self.group.ready
        return self.group.fails or self.group.gone or self.begun

    def json(self, location: str, now: float) -> dict[str, Any]:
        """Return it as it is written."""
        return {
            "name": self.name,
            "zone": location,
            "operationType": self.kind,
            "status": "DONE" if now >= self.done() else "RUNNING",
            "targetLink": f"https://container.googleapis.com/v1/{self.target}",
            "startTime": timestamp(self.begun),
        }


@dataclass
class FakeGke:
    """One cluster in one zone, and those that are made there."""

    cloud: RehearsedCloud
    account: FakeGoogleAccount
    cluster: str = "far"
    location: str = "us-central1-a"
    server: str = "192.0.2.1"
    """Address of its API server."""
    authority: str = ""
    """Base64 of the certificates that may sign the server's."""
    detail: dict[str, Any] = field(default_factory=dict)
    """What else is to be in the answer about the cluster, such as `releaseChannel`."""
    shortage: str = "GCE_STOCKOUT"
    """The code of a pool of which not all machines came; or GCE_QUOTA_EXCEEDED."""
    _operations: list[_ClusterOperation] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The cluster's name in full."""
        return f"projects/{PROJECT}/locations/{self.location}/clusters/{self.cluster}"

    def routes(self) -> list[CloudRoute]:
        """Return all that it answers."""
        served = GoogleFrontend(self.cloud, self.account).served
        one = rf"{LOCATION}/clusters/([\w-]+)"
        calls = [
            ("GET", rf"{one}/nodePools", LIST, self._list),
            ("POST", rf"{one}/nodePools", CREATE, self._create),
            ("GET", rf"{one}/nodePools/([\w-]+)", GET, self._get),
            ("DELETE", rf"{one}/nodePools/([\w-]+)", DELETE, self._delete),
        ]
        return [CloudRoute(method, path, served(call, work)) for method, path, call, work in calls]

    def node_config(self, machine: CloudMachine) -> Mapping[str, Any]:
        """Return the config of the node that a machine is: `labels` and `taints` among others."""
        now = self.cloud.now()
        pools = (each for each in self.cloud.groups if each.name == machine.group and each.is_there(now))
        found = next(pools, None)
        pool: Any = found.detail["nodePool"] if found is not None else {}
        config: Mapping[str, Any] = pool.get("config", {})
        return config

    def own(self, request: CloudRequest) -> CloudAnswer:
        """Answer about the cluster that is there from the beginning."""
        if missing := self._missing(request):
            return missing
        body = {
            "name": self.cluster,
            "location": self.location,
            "locations": [self.location],
            "status": "RUNNING",
            "endpoint": self.server,
            "masterAuth": {"clusterCaCertificate": self.authority},
            "currentMasterVersion": "1.36.3-gke.1000",
            **self.detail,
        }
        return CloudAnswer(body=body)

    def _missing(self, request: CloudRequest) -> CloudAnswer | None:
        """Return what is answered about a cluster that is not there."""
        path = path_of(request)
        return no_cluster(path) if path != self.path and self.made(path) is None else None

    def made(self, path: str) -> CloudGroup | None:
        """Return a cluster that was made."""
        parent, _, name = path.rpartition("/clusters/")
        return self.cloud.group(parent, name)

    def _list(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        if missing := self._missing(request):
            return missing
        return CloudAnswer(
            body={"nodePools": [self.json(each) for each in self.cloud.listed_groups(path_of(request))]}
        )

    def _get(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        found = self.cloud.group(path_of(request), request.parts[2])
        if found is None:
            return no_cluster(f"{path_of(request)}/nodePools/{request.parts[2]}")
        return CloudAnswer(body=self.json(found))

    def _create(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        pool, path = request.json()["nodePool"], path_of(request)
        refused = self._missing(request) or self.busy(path) or self.refused(path, pool)
        if refused is not None:
            return refused
        if fault is CloudFault.QUOTA:
            return no_quota("CPUS", "request requires '16.0' and is short '4.0'")
        try:
            made = self.make(path, pool, fault)
        except CloudCapacityError as error:
            return no_quota("INSTANCES", str(error))
        return self.begun("CREATE_NODE_POOL", path, made)

    def refused(self, path: str, pool: Mapping[str, Any]) -> CloudAnswer | None:
        """Return the refusal of a pool that cannot be."""
        name, config = pool["name"], pool["config"]
        if self.cloud.group(path, name) is not None:
            message = f"Already exists: {path}/nodePools/{name}."
            return refusal(409, "alreadyExists", message, "ALREADY_EXISTS")
        kind = config["machineType"]
        if kind not in (self.cloud.spot_prices if config.get("spot") else self.cloud.prices):
            message = f"Machine type with name '{kind}' does not exist in {self.location}."
            return refusal(400, "badRequest", message, "INVALID_ARGUMENT")
        if not _NAME.fullmatch(name):
            message = f"Invalid value for field 'node_pool.name': '{name}'."
            return refusal(400, "badRequest", message, "INVALID_ARGUMENT")
        return None

    def make(self, path: str, pool: Mapping[str, Any], fault: CloudFault | None) -> CloudGroup:
        """Make a pool and its machines, which end by themselves as it has it."""
        name, config, size = pool["name"], pool["config"], int(pool["initialNodeCount"])
        zone = next(iter(pool.get("locations") or ()), self.location)
        cluster = path.rpartition("/")[2]
        made = self.cloud.make(
            path,
            name,
            config["machineType"],
            size,
            {**config.get("resourceLabels", {}), "goog-gke-node": "", "goog-k8s-cluster-name": cluster},
            is_spot=bool(config.get("spot")),
            fault=fault,
            detail={"nodePool": pool, "zone": zone},
            names=[f"gke-{cluster}-{name}-{number:04x}" for number in range(size)],
        )
        if seconds := config.get("maxRunDuration", "").removesuffix("s"):
            machines = [each for each in self.cloud.there() if each.group == name]
            self.cloud.end(machines, self.cloud.now() + float(seconds))
        return made

    def _delete(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        found = self.cloud.group(path_of(request), request.parts[2])
        if found is None:
            return no_cluster(f"{path_of(request)}/nodePools/{request.parts[2]}")
        if busy := self.busy(path_of(request)):
            return busy
        self.cloud.delete(found, fault)
        return self.begun("DELETE_NODE_POOL", path_of(request), found)

    def busy(self, path: str) -> CloudAnswer | None:
        """Return the refusal of what would be a second operation of the cluster at one time."""
        now = self.cloud.now()
        running = next(
            (each for each in self._operations if each.cluster == path and now < each.done()), None
        )
        if running is None:
            return None
        message = f"Cluster is running incompatible operation {running.name}."
        return refusal(400, "failedPrecondition", message, "FAILED_PRECONDITION")

    def begun(self, kind: str, path: str, group: CloudGroup) -> CloudAnswer:
        """Note an operation of a cluster, and answer with it."""
        name = f"operation-{len(self._operations)}"
        target = path if group.kind == CLUSTER_KIND else f"{path}/nodePools/{group.name}"
        made = _ClusterOperation(name, kind, path, target, self.cloud.now(), group)
        self._operations.append(made)
        return CloudAnswer(body=made.json(self.location, self.cloud.now()))

    def json(self, group: CloudGroup) -> dict[str, Any]:
        """Return a node pool as it is written."""
        now = self.cloud.now()
        asked: Any = group.detail.get("nodePool") or {"name": group.name, "initialNodeCount": group.size}
        found = {**asked, "status": "RUNNING", "version": "1.36.3-gke.1000"}
        if group.is_going(now):
            return {**found, "status": "STOPPING"}
        if now < group.ready:
            return {**found, "status": "PROVISIONING"}
        if not group.problem:
            return found
        there = sum(each.group == group.name for each in self.cloud.there())
        if there == group.size:
            return {**found, "status": "ERROR", "statusMessage": group.problem}
        condition = {"code": self.shortage, "message": group.problem}
        return {**found, "status": "RUNNING_WITH_ERROR", "conditions": [condition]}


def path_of(request: CloudRequest) -> str:
    """Return the path of the cluster that a request is about."""
    return f"{request.parts[0]}/clusters/{request.parts[1]}"


def no_cluster(path: str) -> CloudAnswer:
    """Answer about a cluster or a pool that is not there."""
    return refusal(404, "notFound", f"Not found: {path}.", "NOT_FOUND")


def no_quota(metric: str, detail: str) -> CloudAnswer:
    """Answer that a quota is used up."""
    message = f'Insufficient regional quota to satisfy request: resource "{metric}": {detail}.'
    return refusal(403, "forbidden", message, "PERMISSION_DENIED")
