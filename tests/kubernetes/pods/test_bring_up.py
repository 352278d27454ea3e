"""From a document to a Flux instance on real nodes: who joins, in which order, and what is said meanwhile."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_config import curve
from minicluster import document
from minicluster.plan import FreshKeys, Site, render
from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes import script_pods
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import DOCUMENT, Live, bind, cordoned

VIEW = {"container": {"image": node_images.VIEW}}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_broker_joins_from_a_node_of_its_own(live: Live, size: int) -> None:
    """The lead broker itself counts them."""
    status = live.create(size=size, interactive=True).joined(size)
    assert (status["readyBrokers"], status["phase"]) == (size, "Running")
    assert (
        live.message("BrokersReady")
        == f"{size} of {size} {'brokers have' if size > 1 else 'broker has'} joined"
    )
    assert live.message("Running") == "the instance is up and waits for work"
    assert len({pod["spec"]["nodeName"] for pod in live.pods.by_rank().values()}) == size


def test_the_command_runs_on_every_broker(live: Live) -> None:
    """Its output is in the lead's log, its exit code is the MiniCluster's."""
    status = live.create({"command": "hostname"}, size=4, tasks=4).ended()
    assert (status["phase"], status["exitCode"]) == ("Succeeded", 0)
    assert {f"mc-{rank}" for rank in range(4)} <= set(live.pods.log(0).split())


def test_flux_comes_from_a_view_that_is_mounted(live: Live, engine: str) -> None:
    """The application's image has neither Flux nor Python."""
    if engine == node_images.REAL:
        pytest.skip("real Flux runs at the path that it was built for, which is none of a view's")
    live.create({"image": node_images.PLAIN, "command": "hostname"}, flux=VIEW, tasks=2)
    assert live.ended()["exitCode"] == 0, live.pods.logs()
    assert {"mc-0", "mc-1"} <= set(live.pods.log(0).split())


def test_flux_comes_from_a_view_that_is_copied(nodes: ControlPlane, space: str) -> None:
    """As on a Kubernetes that mounts no images: an init container copies it. Applied without an operator."""
    container = {"image": node_images.PLAIN, "command": "hostname"}
    spec = DOCUMENT["spec"] | {"tasks": 2, "containers": [container], "flux": VIEW}  # type: ignore[operator]
    metadata = {"name": "mc", "namespace": space, "uid": "0a1b2c3d-0000-4000-8000-000000000000"}
    cluster = document.validate(DOCUMENT | {"metadata": metadata, "spec": spec})
    for item in render(cluster, Site(namespace=space), FreshKeys(curve.generate()), with_secrets=True):
        item["metadata"].pop("ownerReferences", None)
        nodes.api.create(collection(item), item)
    job, live = f"/apis/batch/v1/namespaces/{space}/jobs/mc", Live(nodes.api, space)
    try:
        until(lambda: nodes.api.get(job)["status"].get("succeeded"), "the Job to succeed", 60)
    except TimeoutError as error:
        raise AssertionError(
            f"{error}: {[each['status'] for each in live.pods.by_rank().values()]}\n{live.pods.logs()}"
        ) from error
    assert "initContainers" in live.pods.by_rank()[0]["spec"]
    assert {"mc-0", "mc-1"} <= set(live.pods.log(0).split())


def collection(item: dict[str, Any]) -> str:
    """Return where an object of a plan is created."""
    groups = {"Job": "apis/batch/v1", "NetworkPolicy": "apis/networking.k8s.io/v1"}
    groups["PodDisruptionBudget"] = "apis/policy/v1"
    plural = {"NetworkPolicy": "networkpolicies"}.get(item["kind"], f"{item['kind'].lower()}s")
    return f"/{groups.get(item['kind'], 'api/v1')}/namespaces/{item['metadata']['namespace']}/{plural}"


def test_a_lead_that_starts_last_finds_its_followers(live: Live, nodes: ControlPlane) -> None:
    with cordoned(nodes):
        live.create(interactive=True)
        bind(live, 1, nodes.nodes[0].name)
        live.pods.running(1)
        live.until(PodsScheduled=("False", "Unschedulable"), BrokersReady=("Unknown", "NotReported"))
    assert live.joined()["readyBrokers"] == 2


def test_work_begins_with_the_quorum_and_a_late_follower_joins(live: Live, nodes: ControlPlane) -> None:
    """spec.minSize is the quorum."""
    with cordoned(nodes):
        live.create(minSize=1, interactive=True)
        bind(live, 0, nodes.nodes[0].name)
        status = live.until(Running=("True", "ReadyForWork"), BrokersReady=("False", "Joining"))
        assert status["readyBrokers"] == 1
        assert live.message("BrokersReady").startswith(
            "1 of 2 brokers have joined; work starts with 1; missing: 1 ("
        )
    assert live.joined()["readyBrokers"] == 2


MISSING = {
    "image": ({"image": "localhost/nowhere:1"}, "ErrImage"),
    "secret": ({"volumes": {"keys": {"secretName": "absent"}}}, 'secret "absent" not found'),
    "config map": ({"volumes": {"files": {"configMapName": "absent"}}}, 'configmap "absent" not found'),
    "claim": (
        {"volumes": {"disk": {"claimName": "absent", "path": "/mnt/disk"}}},
        'persistentvolumeclaim "absent" not found',
    ),
}


@pytest.mark.parametrize(("container", "words"), MISSING.values(), ids=MISSING)
def test_what_a_pod_lacks_is_reported(live: Live, container: dict[str, Any], words: str) -> None:
    """In a condition's message, with the pod's name."""
    live.create(container, interactive=True)

    def poll() -> bool:
        conditions = live.status.get("conditions") or ()
        return any(words in each["message"] and "mc-" in each["message"] for each in conditions)

    try:
        until(poll, f"{words} to be said", 30)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {live.status}") from error


@pytest.fixture
def old_flux(tmp_path: Path) -> dict[str, Any]:
    """A container with a flux that stands for an old one: it has its version, and brokers fail."""
    program = tmp_path / "old" / "flux"
    program.parent.mkdir(mode=0o755)
    program.write_text(f"#!/bin/sh\n# FLUX_EXEC_PATH\n[ $1 != broker ] || exit 1\n{OLD}\n", encoding="utf-8")
    program.chmod(0o755)
    folder = {"hostPath": str(program.parent), "path": "/old"}
    return {"environment": {"PATH": "/old:/usr/bin:/bin"}, "volumes": {"old": folder}}


OLD = "echo 'libflux-core: 0.40.0'"
UNFIT = {
    "none": "no flux on PATH (/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin): use an image"
    " with Flux, or enable the Flux view (flux.container.disable: false)",
    "old": "the broker ended with 1, and this image's flux-core 0.40.0 is older than 0.88, the oldest that is"
    " tested: use an image with a newer Flux, or enable the Flux view (flux.container.disable: false)",
}


@pytest.mark.parametrize("flux", UNFIT)
def test_an_image_without_a_flux_that_fits_is_reported_with_what_to_do(
    live: Live, old_flux: dict[str, Any], flux: str, engine: str
) -> None:
    if engine == node_images.REAL:
        pytest.skip("it is about an image without real Flux")
    live.create(
        {"image": node_images.PLAIN, "command": "hostname", **(old_flux if flux == "old" else {})}, size=1
    )
    live.ended()
    assert live.message("Failed") == f"the lead could not start: {UNFIT[flux]}"


REGISTRY = """\
exec python3 -uc '
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer
class Registry(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, _, login = self.headers.get("Authorization", "").partition(" ")
        print(self.path, kind, b64decode(login).decode())
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic realm=registry")
        self.end_headers()
    do_HEAD = do_GET
HTTPServer(("127.0.0.1", 80), Registry).serve_forever()'
"""


def test_a_login_that_a_registry_refuses_is_reported_with_what_to_do(live: Live, nodes: ControlPlane) -> None:
    """The registry is on the loopback of the node; it lets nobody in. On port 80 containerd tries no TLS."""
    node = nodes.nodes[0].name
    root = {"securityContext": {"runAsUser": 0}}
    registry = script_pods.pod(
        "registry", node_images.EMBEDDED, REGISTRY, node, hostNetwork=True, container=root
    )
    script_pods.create(live.api, live.namespace, registry)
    script_pods.wait_running(live.api, live.namespace, "registry")
    login = {"auths": {"127.0.0.1:80": {"username": "jane", "password": "former"}}}
    secret = {
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps(login)},
    }
    live.api.create(f"/api/v1/namespaces/{live.namespace}/secrets", {"metadata": {"name": "login"}, **secret})
    container = {"image": "127.0.0.1:80/app:1", "imagePullSecret": "login", "command": "hostname"}
    live.create(container, size=1, pod={"nodeSelector": {"kubernetes.io/hostname": node}})
    words = (
        "; what to do: the registry refuses the login that Secret login holds, or there is none for it:"
        " delete the Secret, then `kubectl create secret docker-registry login"
        f" -n {live.namespace} --docker-server=127.0.0.1:80 --docker-username=USER"
        " --docker-password=PASSWORD`; it is tried again"
    )
    live.until(Running=("False", "PodsStuck"))
    until(lambda: words in live.message("Running"), f"{words!r} in {live.message('Running')!r}", 30)
    log = live.api.send("GET", f"{script_pods.path(live.namespace, 'registry')}/log")[1].decode()
    assert "Basic jane:former" in log
    shown = CommandLine(nodes.kubeconfig, live.namespace)("status", "mc").stdout
    assert "the registry refuses the login that Secret login holds" in " ".join(shown.split())


def test_the_log_reports_where_the_brokers_found_their_cores(live: Live) -> None:
    """Where no CPU is asked for."""
    live.create({"command": "flux resource list -s free -no '{ncores}'", "launcher": True}, size=1)
    assert live.ended()["exitCode"] == 0
    assert "no CPU is asked for" in live.pods.log(0)
