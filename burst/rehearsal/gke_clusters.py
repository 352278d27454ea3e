"""Clusters of a rehearsed Google Kubernetes Engine that are made: each with its node pool, by one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.rehearsal.cloud import CloudCapacityError, CloudFault
from burst.rehearsal.compute_operations import timestamp
from burst.rehearsal.gke import LOCATION, no_cluster, no_quota, path_of
from burst.rehearsal.google_account import GoogleFrontend, refusal
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from burst.rehearsal.cloud import CloudGroup
    from burst.rehearsal.gke import FakeGke
    from burst.rehearsal.server import CloudRequest

CLUSTER, CLUSTERS = "container.clusters.get", "container.clusters.list"
CREATE_CLUSTER, DELETE_CLUSTER = "container.clusters.create", "container.clusters.delete"
SERVER_CONFIG = "container.locations.getServerConfig"


@dataclass
class FakeGkeClusters:
    """The calls about clusters, also about the one that is there from the beginning."""

    gke: FakeGke
    missing_zones: list[str] = field(default_factory=list)
    """Zones that a listing of clusters does not reach."""

    def routes(self) -> list[CloudRoute]:
        """Return all that it answers."""
        served = GoogleFrontend(self.gke.cloud, self.gke.account).served
        one = rf"{LOCATION}/clusters/([\w-]+)"
        calls = [
            ("GET", one, CLUSTER, self._cluster),
            ("GET", rf"{LOCATION}/clusters", CLUSTERS, self._clusters),
            ("POST", rf"{LOCATION}/clusters", CREATE_CLUSTER, self._create_cluster),
            ("DELETE", one, DELETE_CLUSTER, self._delete_cluster),
            ("GET", rf"{LOCATION}/serverConfig", SERVER_CONFIG, self._server_config),
        ]
        return [CloudRoute(method, path, served(call, work)) for method, path, call, work in calls]

    def _cluster(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        made = self.gke.made(path_of(request))
        return CloudAnswer(body=self._made_cluster(made)) if made is not None else self.gke.own(request)

    def _clusters(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        found = self.gke.cloud.listed_groups(request.parts[0])
        body = {"clusters": [self._made_cluster(each) for each in found], "missingZones": self.missing_zones}
        return CloudAnswer(body=body)

    def _create_cluster(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        wanted, parent = request.json()["cluster"], request.parts[0]
        path, [pool] = f"{parent}/clusters/{wanted['name']}", wanted["nodePools"]
        if path == self.gke.path or self.gke.made(path) is not None:
            return refusal(409, "alreadyExists", f"Already exists: {path}.", "ALREADY_EXISTS")
        if refused := self.gke.refused(path, pool):
            return refused
        if fault is CloudFault.QUOTA:
            return no_quota("CPUS", "request requires '16.0' and is short '4.0'")
        try:
            self.gke.make(path, pool, None if fault is CloudFault.BROKEN else fault)
        except CloudCapacityError as error:
            return no_quota("INSTANCES", str(error))
        broken = fault if fault is CloudFault.BROKEN else None
        labels = wanted.get("resourceLabels", {})
        made = self.gke.cloud.make_cluster(parent, wanted["name"], labels, {"cluster": wanted}, broken)
        return self.gke.begun("CREATE_CLUSTER", path, made)

    def _delete_cluster(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        path = path_of(request)
        found = self.gke.made(path)
        if found is None:
            return no_cluster(path)
        if busy := self.gke.busy(path):
            return busy
        now = self.gke.cloud.now()
        pools = [each for each in self.gke.cloud.groups if each.parent == path and each.is_there(now)]
        for each in (found, *pools):
            self.gke.cloud.delete(each, fault)
        return self.gke.begun("DELETE_CLUSTER", path, found)

    def _server_config(self, _request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        return CloudAnswer(body={"validMasterVersions": ["1.36.3-gke.1000", "1.35.7-gke.200"]})

    def _made_cluster(self, group: CloudGroup) -> dict[str, Any]:
        """Return a cluster that was made, with its pools."""
        now, asked = self.gke.cloud.now(), group.detail
        path = f"{group.parent}/clusters/{group.name}"
        wanted: Any = asked.get("cluster") or {"name": group.name, "resourceLabels": dict(group.labels)}
        pools = [
            self.gke.json(each)
            for each in self.gke.cloud.groups
            if each.parent == path and each.is_there(now)
        ]
        found = {
            **wanted,
            "location": self.gke.location,
            "createTime": timestamp(group.created),
            "nodePools": pools,
            "currentMasterVersion": "1.36.3-gke.1000",
            "status": "RUNNING",
        }
        if group.is_going(now):
            return {**found, "status": "STOPPING"}
        if now < group.ready:
            return {**found, "status": "PROVISIONING"}
        if group.problem or group.fails is not None:
            return {**found, "status": "ERROR", "statusMessage": group.problem or "its deletion has failed"}
        return {
            **found,
            "endpoint": self.gke.server,
            "masterAuth": {"clusterCaCertificate": self.gke.authority},
            **self.gke.detail,
        }
