"""Autoscalers written by hand, their conditions, and what becomes of a MiniCluster's size under them."""

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.devcluster import Api, until
from tests.kubernetes import operators
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

TWELVE = (0.2,) * 12
"""Durations of jobs, in seconds, once they are released."""
RANGE = {"size": 1, "minSize": 1, "maxSize": 4, "drainTimeoutSeconds": 600}
FORMS = ("Object", "Service", "Pods", "External")
Object = dict[str, Any]
METRIC = "flux_nodes_demanded"
HPAS = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
EVERY_SECOND: Mapping[str, str] = {
    "horizontal-pod-autoscaler-sync-period": "1s",
    "horizontal-pod-autoscaler-downscale-stabilization": "1s",
}
"""Flags of a controller-manager: no test waits for 15 s, or 5 minutes."""
QUICK = {
    "stabilizationWindowSeconds": 0,
    "policies": [{"type": "Pods", "value": 100, "periodSeconds": 1}],
}


def hpa(form: str, least: int = 1, most: int = 8, behavior: Object | None = None) -> Object:
    """Return an autoscaler of the MiniCluster `mc`, by one form of metric; by default a quick one."""
    cluster = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "name": "mc"}
    return {
        "metadata": {"name": "mc"},
        "spec": {
            "scaleTargetRef": cluster,
            "minReplicas": least,
            "maxReplicas": most,
            "metrics": [_metric(form, cluster)],
            "behavior": behavior or {"scaleUp": QUICK, "scaleDown": QUICK},
        },
    }


def _metric(form: str, cluster: Object) -> Object:
    """Return the nodes demanded by the MiniCluster, one broker for each."""
    target = {"type": "AverageValue", "averageValue": "1"}
    name: Object = {"name": METRIC}
    if form == "Pods":
        return {"type": "Pods", "pods": {"metric": name, "target": target}}
    if form == "External":
        metric = {**name, "selector": {"matchLabels": {"minicluster": "mc"}}}
        return {"type": "External", "external": {"metric": metric, "target": target}}
    service = {"apiVersion": "v1", "kind": "Service", "name": "mc"}
    described = cluster if form == "Object" else service
    return {"type": "Object", "object": {"describedObject": described, "metric": name, "target": target}}


def active(api: Api, namespace: str) -> str:
    """Return whether the autoscaler works, in its own word; empty where it has none, or is not there."""
    path = f"{HPAS.format(namespace)}/mc"
    found = api.get(path).get("status", {}).get("conditions") if api.exists(path) else None
    return next((str(each["status"]) for each in found or () if each["type"] == "ScalingActive"), "")


@dataclass(frozen=True, slots=True)
class Moment:
    """From a time (of `time.time`) on: the size that is asked for, the pods, and the brokers that joined."""

    time: float
    asked: int
    pods: int
    brokers: int


class Sizes:
    """The history of a MiniCluster's sizes, from its creation until the end of `watching`."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    @property
    def asked(self) -> list[int]:
        """The sizes that were asked for, one after the other."""
        return [size for size, _ in itertools.groupby(each.asked for each in self.moments)]

    @property
    def reversals(self) -> int:
        """How often the size that was asked for changed direction."""
        grows = [after > before for before, after in itertools.pairwise(self.asked)]
        return sum(after != before for before, after in itertools.pairwise(grows))

    def follow(self, answer: http.client.HTTPResponse) -> None:
        """Record the changes of a watch, until it is cut off."""
        # Another thread ends it by closing the connection: then a read ends in one of several ways.
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            for line in answer:
                item = json.loads(line)["object"]
                status = item.get("status") or {}
                there = status.get("size") or 0, status.get("readyBrokers") or 0
                self.moments.append(Moment(time.time(), item["spec"]["size"], *there))


def everywhere(ledger: Ledger) -> dict[int, str]:
    """Wait until each of four brokers runs a job; return which."""
    running: dict[int, str] = {}

    def poll() -> bool:
        running.update(ledger.running())
        return running.keys() == {0, 1, 2, 3}

    try:
        until(poll, "a job on each of four brokers", SECONDS)
    except TimeoutError as error:
        found = ledger.live.api.items(HPAS.format(ledger.live.namespace))
        statuses = [each.get("status") for each in found]
        raise AssertionError(f"{error}; {statuses}; {ledger.live.status}") from error
    return running


def smallest(live: Live) -> None:
    """Wait until one broker is left."""
    live.until(Resizing=("False", "AtSize"))
    until(lambda: live.status["size"] == 1 and live.pods.by_rank().keys() == {0}, "one pod", SECONDS)


@contextlib.contextmanager
def watching(api: Api, namespace: str, name: str = "mc") -> Iterator[Sizes]:
    """Follow the sizes of a MiniCluster for as long as the block takes."""
    sizes = Sizes()
    own = Api(api.access)
    connection = own.dial()
    connection.timeout = None  # nothing may happen for long
    query = f"watch=true&fieldSelector=metadata.name%3D{name}"
    connection.request("GET", f"{operators.path(namespace)}?{query}", headers=own.headers())
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    thread = threading.Thread(target=sizes.follow, args=[answer], daemon=True)
    thread.start()
    try:
        until(lambda: sizes.moments, "the MiniCluster's first size")
        yield sizes
    finally:
        connection.sock.shutdown(2)
        thread.join()
        connection.close()
