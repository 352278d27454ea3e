"""The processes that write in the operators' benchmarks, apart from what is measured.

    python benchmarks/writers.py create KUBECONFIG --count 100 --size 8 --connections 1
    python benchmarks/writers.py limit KUBECONFIG --count 100 --size 8 --connections 32

`create` makes MiniClusters. `limit` makes them too, and for each, as soon as it is accepted, writes what our
operator writes: the same objects (of `render`) and one status patch (of `plan`), by the same kinds of
requests. Nothing that has to decide or to wait can be faster, so this is the limit of this API server on this
machine. `objects` is the same for MiniClusters that are there already.

Each prints `ready` once everything is prepared, the connections are open and the API server is warm (one
MiniCluster in another namespace has been written), waits for a line on standard
input, and then prints one JSON line: when its first request began and when the last was answered (seconds of
the machine's monotonic clock), how many requests it sent, and its own CPU-seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from connections import APPLY, BARE, MERGE, Connection, Pool, request

from broker_config import curve
from minicluster import document as spec
from minicluster.kube_client.api import APPLY_MANAGER
from minicluster.kube_client.client import NO_VERSION
from minicluster.kube_client.resources import MINICLUSTERS, RESOURCES
from minicluster.lead_client.keys import LeadAuthority
from minicluster.operator.observation import stamped
from minicluster.plan import FreshKeys, JobReport, ObjectKey, Observed, ObservedObject, Site, plan, render
from tests.devcluster import Access, Api, read_access

NAMESPACE = "benchmark"
WARM_UP = "warm-up"
# Stands for the UID that the server will give. The Secret's name has a part of it.
UID = "5bd7a2c6-91e4-4c3f-b0a8-d1f6e7a9c204"
FIELD_MANAGER = f"?fieldManager={APPLY_MANAGER}"

Object = dict[str, Any]
Write = Callable[[Connection], int]


def document(name: str, size: int, namespace: str = NAMESPACE) -> Object:
    """Return a MiniCluster that every operator accepts."""
    container = {"image": "rockylinux:9", "command": "hostname", "runFlux": True}
    return {
        "apiVersion": spec.API_VERSION,
        "kind": spec.KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"size": size, "tasks": size, "containers": [container]},
    }


def creation(made: Object) -> bytes:
    """Return the request that makes a MiniCluster."""
    path = MINICLUSTERS.path(made["metadata"]["namespace"])
    return request("POST", path, encoded(made), accept=BARE)


@dataclass(frozen=True, slots=True)
class Writes:
    """A MiniCluster, and the requests that our operator sends for it, with UID where its UID belongs."""

    name: str
    create: bytes
    follow: bytes

    def everything(self, connection: Connection) -> int:
        """Make the MiniCluster and its objects."""
        made = json.loads(connection.exchange(self.create))
        return 1 + self.objects(connection, made["metadata"]["uid"])

    def objects(self, connection: Connection, uid: str) -> int:
        """Make its objects, one after the other, and write its status."""
        short, recorded = uid.replace("-", "")[:12], UID.replace("-", "")[:12]
        found = self.follow.replace(UID.encode(), uid.encode()).replace(recorded.encode(), short.encode())
        requests = found.split(SEPARATOR)
        for each in requests:
            connection.exchange(each)
        return len(requests)


SEPARATOR = b"\x00"


def fresh_keys() -> FreshKeys:
    """Return keys as our operator makes them."""
    return FreshKeys(curve.generate(), LeadAuthority.make().issue(UID))


def prepare(made: Object, keys: FreshKeys) -> Writes:
    """Work out what is written for a MiniCluster."""
    name, namespace = made["metadata"]["name"], made["metadata"]["namespace"]
    cluster = spec.validate({**made, "metadata": {**made["metadata"], "uid": UID, "generation": 1}})
    site = Site(namespace=namespace, image_volumes=True, lead_api=True)
    objects = render(cluster, site, keys, with_secrets=True)
    there = [ObservedObject(ObjectKey(each["kind"], each["metadata"]["name"]), UID) for each in objects]
    observed = Observed(objects=tuple(there), job=JobReport(parallelism=cluster.spec.size))
    status = plan(cluster, observed, site, None, datetime.now(UTC)).status
    path = MINICLUSTERS.path(namespace, name, "status") + FIELD_MANAGER
    patch = request("PATCH", path, encoded({"status": status}), MERGE)
    return Writes(name, creation(made), SEPARATOR.join([*map(writing, objects), patch]))


def writing(item: Object) -> bytes:
    """Return the request for one object: a Secret is created, everything else is applied."""
    resource, namespace = RESOURCES[item["kind"]], item["metadata"]["namespace"]
    if item["kind"] == "Secret":
        return request("POST", resource.path(namespace) + FIELD_MANAGER, encoded(item), accept=BARE)
    body = encoded(stamped({**item, "metadata": {**item["metadata"], "resourceVersion": NO_VERSION}}))
    path = f"{resource.path(namespace, item['metadata']['name'])}{FIELD_MANAGER}&force=true"
    return request("PATCH", path, body, APPLY, BARE)


def encoded(item: Object) -> bytes:
    """Write an object as it goes over the wire."""
    return json.dumps(item, separators=(",", ":")).encode()


def work(role: str, access: Access, count: int, size: int) -> list[Write]:
    """Prepare the writes of a role."""
    documents = [document(f"mc-{number:04}", size) for number in range(count)]
    if role == "create":
        return [creating(creation(each)) for each in documents]
    keys = fresh_keys()
    prepared = [prepare(each, keys) for each in documents]
    if role == "limit":
        return [each.everything for each in prepared]
    found = Api(access).items(MINICLUSTERS.path(NAMESPACE))
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}
    return [following(each, uids[each.name]) for each in prepared]


def creating(data: bytes) -> Write:
    """Return the write of one request."""

    def write(connection: Connection) -> int:
        connection.exchange(data)
        return 1

    return write


def following(writes: Writes, uid: str) -> Write:
    """Return the writes for a MiniCluster that exists."""
    return lambda connection: writes.objects(connection, uid)


def warm_up(access: Access) -> None:
    """Have the API server and the controllers do once what they will do all the time."""
    with Connection(access) as connection:
        prepare(document("client", 1, WARM_UP), fresh_keys()).everything(connection)
    time.sleep(2)


def main() -> None:
    """Prepare, wait for a line, write, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("role", choices=["create", "objects", "limit"])
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--connections", type=int, default=32)
    args = parser.parse_args()
    access = read_access(args.kubeconfig)
    prepared = work(args.role, access, args.count, args.size)
    if args.role != "create":  # else the operator has warmed it up
        warm_up(access)
    pool = Pool(access, min(args.connections, args.count))
    sent: list[int] = []
    print("ready", flush=True)
    sys.stdin.readline()
    cpu, first = time.process_time(), time.monotonic()
    pool.run(prepared, lambda connection, write: sent.append(write(connection)))
    last = time.monotonic()
    spent = round(time.process_time() - cpu, 3)
    print(json.dumps({"first": first, "last": last, "requests": sum(sent), "cpu_s": spent}))


if __name__ == "__main__":
    main()
