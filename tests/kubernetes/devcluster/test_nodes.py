"""Real nodes: pods run on them, reach each other, find names, and lose a node."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import ControlPlane, node_images, real_flux, until
from tests.devcluster.fake_nodes import node_names
from tests.devcluster.nodes import Node
from tests.kubernetes import script_pods
from tests.kubernetes.script_pods import pod

FOREVER = "sleep infinity"
SERVER = "cd /tmp && exec python3 -m http.server 8080"
# Exit code 0 if every address that is given answers; a Service refuses until the proxies know of its pods.
CLIENT = """
exec python3 - {} <<'END'
import sys, time, urllib.request
deadline = time.monotonic() + 20
for address in sys.argv[1:]:
    while True:
        try:
            urllib.request.urlopen(f"http://{{address}}:8080/", timeout=10).read()
            break
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
END
"""
PORT = 8080


@pytest.fixture
def node(nodes: ControlPlane) -> Iterator[Node]:
    """A node that the test may do anything to; it is repaired."""
    chosen = nodes.nodes[-1]
    yield chosen
    if chosen.name not in nodes.guardian.pids():
        chosen.start()
    elif f"{chosen.name}-kubelet" not in nodes.guardian.pids():
        chosen.start_kubelet()
    chosen.link.mend()
    for other in nodes.nodes[:-1]:
        chosen.link.mend_with(other.link)
    until(lambda: chosen.name in node_names(nodes.api, ready=True), f"{chosen.name} to be Ready again", 60)


def address(found: dict[str, Any]) -> str:
    """Return a pod's address."""
    return str(found["status"]["podIP"])


def serve(nodes: ControlPlane, space: str, *names: str) -> dict[str, str]:
    """Have a web server on each of the nodes; return the pods' addresses by node."""
    servers = [pod(f"server-{name}", node_images.EMBEDDED, SERVER, name) for name in names]
    for one in servers:
        ready = {"tcpSocket": {"port": PORT}, "periodSeconds": 1}
        one["spec"]["containers"][0]["readinessProbe"] = ready
    script_pods.create(nodes.api, space, *servers)
    return {name: address(script_pods.wait_running(nodes.api, space, f"server-{name}")) for name in names}


def test_four_nodes_are_ready(nodes: ControlPlane) -> None:
    names = [one.name for one in nodes.nodes]
    assert names == ["node-1", "node-2", "node-3", "node-4"]
    assert node_names(nodes.api, ready=True) >= set(names)


def test_pods_reach_each_other_from_every_node_to_every_node(nodes: ControlPlane, space: str) -> None:
    names = [one.name for one in nodes.nodes]
    addresses = serve(nodes, space, *names)
    script = CLIENT.format(" ".join(addresses.values()))
    script_pods.create(
        nodes.api, space, *(pod(f"client-{name}", node_images.EMBEDDED, script, name) for name in names)
    )
    ended = [script_pods.wait_ended(nodes.api, space, f"client-{name}") for name in names]
    assert [one.code for one in ended] == [0, 0, 0, 0], [one.log for one in ended]


def test_names_below_a_headless_service_resolve_in_a_pod(nodes: ControlPlane, space: str) -> None:
    """By the short name, and from another node; the DNS hears of an address some time after."""
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"pod": "named"}}
    service = {"metadata": {"name": "service"}, "spec": spec}
    nodes.api.create(f"/api/v1/namespaces/{space}/services", service)
    first, second = nodes.nodes[:2]
    dns_names = {"hostname": "broker-0", "subdomain": "service"}
    script_pods.create(nodes.api, space, pod("named", node_images.PLAIN, FOREVER, first.name, **dns_names))
    wanted = address(script_pods.wait_running(nodes.api, space, "named"))
    names = f"broker-0.service broker-0.service.{space}.svc.cluster.local"
    script = f"for name in {names}; do until getent hosts $name; do sleep 0.2; done; done"
    ended = script_pods.run(nodes.api, space, pod("asks", node_images.PLAIN, script, second.name))
    assert [line.split()[0] for line in ended.log.splitlines()] == [wanted, wanted]


def test_a_service_leads_to_its_pod_from_the_same_node_and_from_another(
    nodes: ControlPlane, space: str
) -> None:
    first, second = nodes.nodes[:2]
    serve(nodes, space, first.name)
    spec = {"selector": {"pod": f"server-{first.name}"}, "ports": [{"port": PORT}]}
    nodes.api.create(f"/api/v1/namespaces/{space}/services", {"metadata": {"name": "web"}, "spec": spec})
    for one in (first, second):
        asks = pod(f"asks-{one.name}", node_images.EMBEDDED, CLIENT.format("web"), one.name)
        ended = script_pods.run(nodes.api, space, asks)
        assert ended.code == 0, ended.log


def test_the_world_outside_is_not_to_be_found(nodes: ControlPlane, space: str) -> None:
    """A test that asked for something out there would get an answer on some machines only."""
    ended = script_pods.run(nodes.api, space, pod("asks", node_images.PLAIN, "getent hosts example.com"))
    assert ended.code == 2


IMAGES = [
    pytest.param(
        node_images.EMBEDDED,
        "flux start -s2 flux run -n2 id -u; exit 3",
        "1000\n1000\n",
        3,
        id="embedded",
    ),
    pytest.param(node_images.PLAIN, "command -v python3 flux; id -un; exit 4", "flux\n", 4, id="plain"),
    pytest.param(
        node_images.LAMMPS,
        "flux start -s1 flux run -n2 lmp -help >/tmp/help && grep -c 'Usage example' /tmp/help; exit 5",
        "1\n",
        5,
        id="lammps",
    ),
    pytest.param(
        node_images.VIEW,
        "/opt/view/bin/python3 -c 'import ssl, sqlite3, zmq; print(1)'; exit 6",
        "1\n",
        6,
        id="view",
    ),
]


@pytest.mark.parametrize(("image", "script", "log", "code"), IMAGES)
def test_an_image_runs_its_program_and_the_exit_code_arrives(
    nodes: ControlPlane, space: str, image: str, script: str, log: str, code: int
) -> None:
    ended = script_pods.run(nodes.api, space, pod("one", image, script))
    assert (ended.code, ended.log) == (code, log)


def test_real_flux_runs_where_this_machine_has_it(nodes: ControlPlane, space: str) -> None:
    if real_flux.find() is None:
        pytest.skip("no flux-core on PATH")
    script = "flux start -s2 flux run -n2 id -u; flux --version | grep -c libflux-core; exit 3"
    ended = script_pods.run(nodes.api, space, pod("one", node_images.REAL, script))
    assert (ended.code, ended.log) == (3, "1000\n1000\n1\n")


VIEWED = "PATH=/mnt/flux/view/bin:$PATH; flux start -s2 flux run -n2 echo here; exit 7"
MOUNTS = [
    ({"mountPath": "/mnt/flux"}, ""),
    ({"mountPath": "/opt/views"}, "views"),
    ({"mountPath": "/opt/software"}, "software"),
]


def volume_of_image() -> dict[str, Any]:
    """Mount the view image."""
    image = {"reference": node_images.VIEW, "pullPolicy": "Never"}
    mounts = [
        {"name": "view", **mount, "readOnly": True, "subPath": f"opt/{part}".rstrip("/")}
        for mount, part in MOUNTS
    ]
    return {"volumes": [{"name": "view", "image": image}], "container": {"volumeMounts": mounts}}


def volume_of_copy() -> dict[str, Any]:
    """Copy the view into a volume, as an init container does."""
    mounts = [
        {"name": "view", **mount, "readOnly": True, **({"subPath": part} if part else {})}
        for mount, part in MOUNTS
    ]
    copies = {
        "name": "copies",
        "image": node_images.VIEW,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", "cp -a /opt/* /mnt/flux/"],
        "volumeMounts": [{"name": "view", "mountPath": "/mnt/flux"}],
    }
    return {
        "volumes": [{"name": "view", "emptyDir": {}}],
        "initContainers": [copies],
        "container": {"volumeMounts": mounts},
    }


@pytest.mark.parametrize("volume", [volume_of_image, volume_of_copy], ids=["image", "copy"])
def test_an_image_without_python_runs_flux_from_the_view(
    nodes: ControlPlane, space: str, volume: Callable[[], dict[str, Any]]
) -> None:
    ended = script_pods.run(nodes.api, space, pod("one", node_images.PLAIN, VIEWED, **volume()))
    assert (ended.code, ended.log) == (7, "here\nhere\n")


def test_running_containers_are_listed_by_pod_with_their_processes(nodes: ControlPlane, space: str) -> None:
    first = nodes.nodes[0]
    script_pods.create(nodes.api, space, pod("one", node_images.PLAIN, f"exec {FOREVER}", first.name))
    script_pods.wait_running(nodes.api, space, "one")
    found = [one for one in first.pods() if one.namespace == space]
    assert [(one.pod, one.name) for one in found] == [("one", "main")]
    assert Path(f"/proc/{found[0].pid}/cmdline").read_bytes() == b"sleep\0infinity\0"


def is_ready(nodes: ControlPlane, node: Node) -> bool:
    """Say whether pods can go to a node."""
    return node.name in node_names(nodes.api, ready=True)


def test_without_its_kubelet_a_node_is_noticed_and_its_containers_run_on(
    nodes: ControlPlane, node: Node, space: str
) -> None:
    script_pods.create(nodes.api, space, pod("one", node_images.PLAIN, FOREVER, node.name))
    script_pods.wait_running(nodes.api, space, "one")
    node.stop_kubelet()
    until(lambda: not is_ready(nodes, node), f"{node.name} to be given up", 60)
    assert [one.pod for one in node.pods() if one.namespace == space] == ["one"]


def test_a_killed_node_loses_all_at_once_and_comes_back_empty(
    nodes: ControlPlane, node: Node, space: str
) -> None:
    script_pods.create(nodes.api, space, pod("one", node_images.PLAIN, FOREVER, node.name))
    script_pods.wait_running(nodes.api, space, "one")
    process = Path(f"/proc/{next(one.pid for one in node.pods() if one.namespace == space)}")
    node.kill()
    assert not process.exists()
    until(lambda: not is_ready(nodes, node), f"{node.name} to be given up", 60)
    node.start()
    until(lambda: is_ready(nodes, node), f"{node.name} to come back", 60)
    assert [one for one in node.pods() if one.namespace == space] == []
    ended = script_pods.run(nodes.api, space, pod("two", node_images.PLAIN, "exit 8", node.name))
    assert ended.code == 8


def connects(host: str) -> bool:
    """Say whether a pod's server takes a connection from this machine."""
    with contextlib.suppress(OSError), socket.create_connection((host, PORT), timeout=1):
        return True
    return False


def test_a_cut_node_is_out_of_reach_until_it_is_mended(nodes: ControlPlane, node: Node, space: str) -> None:
    server = serve(nodes, space, node.name)[node.name]
    assert connects(server)
    node.link.cut()
    assert not connects(server)
    node.link.mend()
    until(lambda: connects(server), "the mended node", 30)


def test_a_cut_between_two_nodes_is_between_their_pods_alone(
    nodes: ControlPlane, node: Node, space: str
) -> None:
    first, second = nodes.nodes[:2]
    server = serve(nodes, space, node.name)[node.name]
    node.link.cut_from(first.link)
    script = f"timeout 3 python3 -c 'import socket; socket.create_connection((\"{server}\", {PORT}))'"
    for name, where in (("cut", first), ("whole", second)):
        script_pods.create(nodes.api, space, pod(name, node_images.EMBEDDED, script, where.name))
    codes = [script_pods.wait_ended(nodes.api, space, name).code for name in ("cut", "whole")]
    assert codes == [124, 0]
    assert is_ready(nodes, node)


def test_the_api_names_the_owner_of_a_pod(nodes: ControlPlane, space: str) -> None:
    """A pod calls the API server by its Service, with its service account's token."""
    script = """exec python3 - <<'END'
import ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
request = urllib.request.Request("https://kubernetes.default.svc/api/v1/pods")
request.add_header("Authorization", "Bearer " + open(folder + "token").read())
try:
    urllib.request.urlopen(request, context=ssl.create_default_context(cafile=folder + "ca.crt"))
except urllib.error.HTTPError as error:
    print(error.code)
END
"""
    ended = script_pods.run(nodes.api, space, pod("asks", node_images.EMBEDDED, script))
    assert (ended.code, ended.log) == (0, "403\n")
