"""What pods mount, and what runs beside the brokers: volumes, services, sidecars, hooks."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker_config import curve
from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of this machine that pods may write to."""
    found = tmp_path / "folder"
    found.mkdir()
    found.chmod(0o777)
    return found


def ended_well(live: Live) -> list[str]:
    """Wait for the end of a command; return what it wrote."""
    assert live.ended()["exitCode"] == 0, live.pods.logs()
    return live.pods.log(0).splitlines()


def make(live: Live, kind: str, name: str, **content: Any) -> None:
    """Create an object in the MiniCluster's namespace."""
    live.api.create(f"/api/v1/namespaces/{live.namespace}/{kind}", {"metadata": {"name": name}, **content})


@pytest.mark.parametrize("medium", ["", "Memory"], ids=["disk", "memory"])
def test_a_scratch_folder_is_each_brokers_own(live: Live, medium: str) -> None:
    """An emptyDir, writable for a user that is not root."""
    volume = {"emptyDir": True, "emptyDirMedium": medium, "emptyDirSizeLimit": "1Mi", "path": "/scratch"}
    command = "sh -c 'hostname >>/scratch/file; sleep 1; cat /scratch/file'"
    live.create({"command": command, "volumes": {"scratch": volume}}, tasks=2)
    assert {"mc-0", "mc-1"} <= set(ended_well(live))


def test_a_secret_and_a_config_map_are_files(live: Live) -> None:
    """All keys of the one, one key of the other."""
    make(live, "secrets", "keys", data={"word": base64.b64encode(b"secret\n").decode()})
    make(live, "configmaps", "files", data={"one": "first\n", "two": "second\n"})
    volumes = {
        "keys": {"secretName": "keys", "path": "/keys"},
        "files": {"configMapName": "files", "path": "/files", "items": {"two": "2.txt"}},
    }
    live.create({"command": "sh -c 'cat /keys/word /files/*'", "volumes": volumes}, tasks=1, size=1)
    written = ended_well(live)
    assert {"secret", "second"} <= set(written)
    assert "first" not in written


def test_a_secret_is_a_variable(live: Live) -> None:
    make(live, "secrets", "keys", data={"word": base64.b64encode(b"quiet").decode()})
    secrets = {"WORD": {"name": "keys", "key": "word"}}
    live.create({"command": "sh -c 'echo the word is $WORD'", "secrets": secrets}, size=1)
    assert "the word is quiet" in ended_well(live)


def test_a_claimed_disk_is_shared(live: Live, folder: Path) -> None:
    """A PersistentVolumeClaim, bound to a volume that is a folder of this machine; it outlives the pods."""
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "hostPath": {"path": str(folder)},
        "storageClassName": "",
        "claimRef": {"namespace": live.namespace, "name": "disk"},
    }
    name = f"disk-{live.namespace}"
    live.api.create("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": volume})
    claim = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        "volumeName": name,
    }
    make(live, "persistentvolumeclaims", "disk", spec=claim)
    try:
        command = "sh -c 'hostname >/disk/$(hostname)'"
        live.create(
            {"command": command, "volumes": {"disk": {"claimName": "disk", "path": "/disk"}}}, tasks=2
        )
        ended_well(live)
    finally:
        live.api.delete(f"/api/v1/persistentvolumes/{name}")
    assert sorted(path.read_text() for path in folder.iterdir()) == ["mc-0\n", "mc-1\n"]


def test_kubernetes_own_hooks_run_around_a_broker(live: Live, folder: Path) -> None:
    """After it started, and before its pod goes."""
    hooks = {
        "postStartExec": "echo started >>/folder/$(hostname)",
        "preStopExec": "echo stops >>/folder/$(hostname)",
    }
    volumes = {"folder": {"hostPath": str(folder), "path": "/folder"}}
    live.create({"lifeCycle": hooks, "volumes": volumes}, interactive=True, size=1).joined(1)
    notes = folder / "mc-0"
    until(notes.exists, "the first note", SECONDS)
    assert notes.read_text() == "started\n"
    live.delete()
    until(lambda: notes.read_text() == "started\nstops\n", "the second note", SECONDS)


def test_a_service_has_a_pod_and_a_name(live: Live) -> None:
    """Brokers reach it by that name; it ends with the MiniCluster."""
    service = {
        "name": "web",
        "image": node_images.EMBEDDED,
        "command": "echo at your service >/tmp/page; python3 -m http.server 18765 --directory /tmp",
        "ports": [18765],
    }
    fetch = "import urllib.request as r; print(r.urlopen('http://mc-services.mc:18765/page').read().decode())"
    script = f'#!/bin/sh\nuntil python3 -c "{fetch}" 2>/dev/null; do sleep 0.5; done\n'
    live.create({"commands": {"script": script}, "launcher": True}, services=[service], size=1)
    assert "at your service" in ended_well(live)


def test_a_sidecar_speaks_to_the_instance(live: Live, folder: Path, engine: str) -> None:
    """Through the broker's socket in its pod: each pod's sends a job, which runs on all brokers."""
    sidecar = {
        "name": "side",
        "image": engine,
        "command": "said=/folder/$(hostname); flux run -N2 hostname >$said.part && mv $said.part $said",
        "volumes": {"folder": {"hostPath": str(folder), "path": "/folder"}},
    }
    spec: dict[str, Any] = {"size": 2, "interactive": True}
    main = {"image": engine, "name": "main", "runFlux": True}
    live.create(**spec, containers=[main, sidecar])
    live.joined(2)
    hosts = ["mc-0", "mc-1"]
    until(lambda: all((folder / host).exists() for host in hosts), "the sidecars' jobs", SECONDS)
    assert [sorted((folder / host).read_text().split()) for host in hosts] == [hosts, hosts]


class TestAfterTheEnd:
    """What can still be seen of a MiniCluster that has ended."""

    @pytest.fixture
    def minicluster(self, live: Live, nodes: ControlPlane) -> CommandLine:
        """The command line, and a MiniCluster that has failed with 7."""
        live.create({"command": "sh -c 'echo from $(hostname); exit 7'"}, tasks=2)
        assert live.ended()["exitCode"] == 7
        return CommandLine(nodes.kubeconfig, live.namespace)

    def test_logs_and_attach_show_what_was_written(self, minicluster: CommandLine) -> None:
        """The pods have ended, but are there."""
        shown = minicluster("logs", "mc", "--rank", 0)
        assert {"from mc-0", "from mc-1"} <= set(shown.stdout.splitlines())
        attached = minicluster("attach", "mc")
        assert (attached.returncode, {"from mc-0", "from mc-1"} <= set(attached.stdout.splitlines())) == (
            7,
            True,
        )

    def test_without_pods_the_message_is_that_the_output_is_gone(
        self, minicluster: CommandLine, live: Live
    ) -> None:
        """The exit code is known all the same."""
        live.api.call("DELETE", f"/api/v1/namespaces/{live.namespace}/pods?gracePeriodSeconds=0")
        until(lambda: not live.pods.by_rank(), "the pods to go", SECONDS)
        shown = minicluster("logs", "mc", "--rank", 0)
        message = f"there are no pods in namespace {live.namespace} (Failed: the main command ended with"
        assert (shown.returncode, message in shown.stderr) == (1, True), shown.stderr
        attached = minicluster("attach", "mc")
        message = "its lead's pod is gone, and with it what the command wrote"
        assert (attached.returncode, message in attached.stderr) == (7, True), attached.stderr


def test_an_image_with_an_older_c_library_than_flux_needs(live: Live, folder: Path, engine: str) -> None:
    """The words of the loader are in the status, and in the log. (A part of the C library is an old stub.)"""
    if engine == node_images.REAL:
        pytest.skip("real Flux is a part of the application's image here, not a view")
    stub = next(path for path in map(Path, STUBS) if path.exists())
    (folder / "libm.so.6").write_bytes(stub.read_bytes())
    container = {
        "image": node_images.PLAIN,
        "command": "hostname",
        "environment": {"LD_LIBRARY_PATH": "/old"},
        "volumes": {"old": {"hostPath": str(folder), "path": "/old"}},
    }
    live.create(container, flux={"container": {"image": node_images.VIEW}})
    live.ended()
    words = "the lead could not start: flux cannot run in this image (is its C library, glibc, older"
    assert live.message("Failed").startswith(words), live.status
    assert "version `GLIBC_" in live.message("Failed")
    assert "version `GLIBC_" in live.pods.log(0)


# A library of the C library's own, which has few versions of its symbols.
STUBS = ("/lib/x86_64-linux-gnu/libdl.so.2", "/lib/aarch64-linux-gnu/libdl.so.2", "/usr/lib64/libdl.so.2")


@pytest.fixture
def certificate(live: Live) -> Callable[[str], None]:
    """Put another certificate in place of a MiniCluster's: pods that are made from now on have it."""

    def replace(text: str) -> None:
        resource_path = f"/api/v1/namespaces/{live.namespace}/secrets"
        (secret,) = [
            each for each in live.api.items(resource_path) if each["metadata"]["name"].startswith("mc-curve-")
        ]
        metadata = {key: secret["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        fresh = {**secret, "metadata": metadata}
        fresh["data"]["curve.cert"] = base64.b64encode(text.encode()).decode()
        live.api.delete(f"{resource_path}/{metadata['name']}")
        live.api.create(resource_path, fresh)

    return replace


def test_a_broker_with_another_certificate_is_rejected(
    live: Live, engine: str, certificate: Callable[[str], None]
) -> None:
    """The instance goes on without it, and the status says why; with the right one it joins."""
    live.create(interactive=True).joined(2)
    resource_path = f"/api/v1/namespaces/{live.namespace}/secrets"
    (secret,) = [
        each for each in live.api.items(resource_path) if each["metadata"]["name"].startswith("mc-curve-")
    ]
    right = base64.b64decode(secret["data"]["curve.cert"]).decode()
    certificate(curve.render("mc", curve.generate()))
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    live.pods.delete(1)
    live.pods.replaced(1, uid)
    live.pods.running(1)
    # Real Flux's lead notices nothing of it: there its status can only say who is missing.
    why = "missing: 1 (" if engine == node_images.REAL else "turned away: wrong certificate"
    until(lambda: why in live.message("BrokersReady"), f"{why!r} to be said", SECONDS)
    assert live.message("Running") == "the instance is up and waits for work"
    certificate(right)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    live.pods.delete(1)
    live.pods.replaced(1, uid)
    live.joined(2)
