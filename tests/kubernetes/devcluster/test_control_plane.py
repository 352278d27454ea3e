"""The test cluster itself: it serves, it is alone, and it goes."""

import contextlib
import json
import secrets
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minicluster.document import KIND, crd
from tests.devcluster import (
    Api,
    ApiError,
    ComponentError,
    ContextError,
    ControlPlane,
    HarnessError,
    Options,
    cluster,
    end_pod,
    read_access,
    start,
    state,
    until,
)
from tests.devcluster.existing import ExistingCluster, connect

ROOT = Path(__file__).parents[3]
MINICLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/{}/miniclusters"


def minicluster(**spec: Any) -> dict[str, Any]:
    """Write a MiniCluster document."""
    full = {"size": 1, "containers": [{"image": "app"}], **spec}
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": KIND,
        "metadata": {"name": "mc"},
        "spec": full,
    }


def job(pods: int) -> dict[str, Any]:
    """Write an indexed Job that fails with its first pod."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]}
    spec = {"completions": pods, "parallelism": pods, "completionMode": "Indexed", "backoffLimit": 0}
    return {"metadata": {"name": "work"}, "spec": {**spec, "template": {"spec": pod}}}


def phases(api: Api, namespace: str) -> list[str]:
    """List the phases of a namespace's pods."""
    return sorted(pod["status"]["phase"] for pod in api.items(f"/api/v1/namespaces/{namespace}/pods"))


def is_gone(directory: Path) -> bool:
    """Say whether a cluster left neither a file nor a process."""
    return not directory.exists() and not state.marked(directory)


def command(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the harness's command line on a cluster of this name."""
    argv = [sys.executable, "-m", "tests.devcluster", "--name", name, *words]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def other(programs: None) -> Iterator[ControlPlane]:
    """A second control plane, with an admission plug-in more, for two tests; the second ends it."""
    plugins = {"enable-admission-plugins": "NodeRestriction,AlwaysPullImages"}
    with cluster(Options(apiserver=plugins)) as found:
        yield found


def test_serves_the_pinned_version(plane: ControlPlane) -> None:
    assert plane.version.startswith("v1.")
    assert set(plane.guardian.pids()) >= {
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    }


def test_nobody_else_can_read_its_files(plane: ControlPlane) -> None:
    """Keys and the etcd sockets are in a directory that only the owner can enter."""
    assert stat.S_IMODE(plane.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(plane.kubeconfig.stat().st_mode) == 0o600


def test_two_run_side_by_side_with_flags_of_their_own(
    api: Api, other: ControlPlane, namespace: str, plane: ControlPlane
) -> None:
    """What one has the other has not: a namespace here, an admission plug-in there."""
    assert other.url != plane.url
    assert not other.api.exists(f"/api/v1/namespaces/{namespace}")
    pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}
    policies = [
        server.create(f"/api/v1/namespaces/{where}/pods", pod)["spec"]["containers"][0]["imagePullPolicy"]
        for server, where in ((api, namespace), (other.api, "default"))
    ]
    assert policies == ["IfNotPresent", "Always"]


def test_stop_leaves_nothing(other: ControlPlane) -> None:
    pids = other.guardian.pids().values()
    other.stop()
    other.stop()  # a second time is no error
    assert is_gone(other.directory)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid: int) -> bool:
    """Say whether a process lives; a zombie does not."""
    with contextlib.suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_nothing_survives_a_sigkill_of_the_owner(programs: None) -> None:
    """Not even in the worst case: the owner cannot do anything any more."""
    script = "from tests.devcluster import start; print(start().directory, flush=True); input()"
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().strip())
        assert len(state.marked(directory)) == 4
        owner.kill()
        until(lambda: is_gone(directory), "the cluster of a killed owner to go", 10)


def test_a_program_that_does_not_start_is_quoted(programs: None) -> None:
    with pytest.raises(
        ComponentError, match=r"(?s)kube-apiserver exited with 1.*unknown flag: --no-such-flag"
    ):
        start(Options(apiserver={"no-such-flag": "1"}))


def test_data_outlives_a_crash_of_the_api_server(plane: ControlPlane, namespace: str) -> None:
    plane.apiserver.stop(signal.SIGKILL)
    assert not plane.apiserver.is_ready()
    plane.apiserver.start()
    assert plane.api.exists(f"/api/v1/namespaces/{namespace}")


def test_an_early_crd_takes_a_valid_document(api: Api, namespace: str) -> None:
    created = api.create(MINICLUSTERS.format(namespace), minicluster(size=2))
    assert created["spec"]["size"] == 2


def test_an_early_crd_refuses_what_its_rules_refuse(api: Api, namespace: str) -> None:
    with pytest.raises(ApiError, match="size must not be greater than maxSize") as refused:
        api.create(MINICLUSTERS.format(namespace), minicluster(size=3, maxSize=2))
    assert (refused.value.status, refused.value.reason) == (422, "Invalid")


def test_the_oldest_version_serves_the_crd_with_its_rules(oldest_plane: ControlPlane) -> None:
    """Every rule's cost was accepted, or the CRD would not be established."""
    assert oldest_plane.version.startswith("v1.31.")
    miniclusters = MINICLUSTERS.format("default")
    assert oldest_plane.api.create(miniclusters, minicluster())["spec"]["size"] == 1
    with pytest.raises(ApiError, match="size must not be greater than maxSize"):
        oldest_plane.api.create(miniclusters, minicluster(size=3, maxSize=2))


def test_fake_nodes_serve_the_oldest_version(oldest_plane: ControlPlane) -> None:
    oldest_plane.add_fake_nodes(1)
    oldest_plane.api.create("/apis/batch/v1/namespaces/default/jobs", job(2))
    until(lambda: phases(oldest_plane.api, "default") == ["Running"] * 2, "two pods to run")


def test_pods_run_on_fake_nodes(plane: ControlPlane, api: Api, namespace: str) -> None:
    nodes = plane.add_fake_nodes(10)
    assert len(nodes) == 10
    api.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", job(4))
    until(lambda: phases(api, namespace) == ["Running"] * 4, "four pods to run")


def test_a_fake_pod_ends_as_it_is_ordered(plane: ControlPlane, api: Api, namespace: str) -> None:
    """Exit code and termination message are there, and the Job controller takes them as a kubelet's."""
    plane.add_fake_nodes(1)
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    api.create(jobs, job(1))
    until(lambda: phases(api, namespace) == ["Running"], "the pod to run")
    pod = api.items(f"/api/v1/namespaces/{namespace}/pods")[0]
    end_pod(api, namespace, pod["metadata"]["name"], 3, "3")
    ended = until(lambda: conditions(api.get(f"{jobs}/work")).get("Failed"), "the Job to fail")
    assert ended == "BackoffLimitExceeded"
    last = api.items(f"/api/v1/namespaces/{namespace}/pods")[0]["status"]["containerStatuses"][0]
    assert (last["state"]["terminated"]["exitCode"], last["state"]["terminated"]["message"]) == (3, "3")


def conditions(found: dict[str, Any]) -> dict[str, str]:
    """Map the conditions that hold to their reasons."""
    listed = found["status"].get("conditions") or []
    return {one["type"]: one["reason"] for one in listed if one["status"] == "True"}


def test_a_user_has_the_rights_bound_to_it_and_is_audited(plane: ControlPlane, namespace: str) -> None:
    jane = Api(plane.user("jane", ["developers"]))
    skip = plane.audit_log.stat().st_size
    with pytest.raises(ApiError, match='User "jane" cannot list resource "secrets"'):
        jane.items(f"/api/v1/namespaces/{namespace}/secrets")
    jane.hang_up()
    asked = [one for one in plane.requests(skip) if one.user == "jane"]
    assert [(one.verb, one.resource, one.namespace, one.code) for one in asked] == [
        ("list", "secrets", namespace, 403)
    ]


@pytest.fixture
def borrowed(plane: ControlPlane) -> Iterator[ExistingCluster]:
    """The session's control plane, used as somebody's own cluster."""
    found = connect("test", [crd()], plane.kubeconfig)
    yield found
    found.stop()


def test_a_context_of_a_kubeconfig_works_instead(borrowed: ExistingCluster, plane: ControlPlane) -> None:
    assert (borrowed.url, borrowed.version) == (plane.url, plane.version)


def test_an_unknown_context_is_named_with_those_there_are(plane: ControlPlane) -> None:
    with pytest.raises(ContextError, match="no context 'prod'; there are test"):
        connect("prod", kubeconfig=plane.kubeconfig)


def test_a_cluster_that_is_away_is_named(tmp_path: Path, plane: ControlPlane) -> None:
    file = tmp_path / "config"
    file.write_text(plane.kubeconfig.read_text().replace(plane.url, "https://127.0.0.1:1"))
    with pytest.raises(ContextError, match=r"context 'test': https://127.0.0.1:1 cannot be reached"):
        connect("test", kubeconfig=file)


def test_a_context_by_plug_in_is_refused(tmp_path: Path) -> None:
    document = {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://there"}}],
        "users": [{"name": "u", "user": {"exec": {"command": "login"}}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(document))
    with pytest.raises(ContextError, match="neither a client certificate nor a token"):
        read_access(file, "c")


def test_a_cluster_that_began_without_nodes_has_no_network_for_them(plane: ControlPlane) -> None:
    with pytest.raises(HarnessError, match=r"start the cluster with Options\(nodes=1\), or more"):
        plane.add_nodes(1)


def test_people_start_and_end_one_by_command(programs: None) -> None:
    """`up` twice is one cluster; it outlives the command; `down` leaves nothing, and may be repeated."""
    name = f"by-command-{secrets.token_hex(4)}"
    try:
        first, second = command(name, "up", "--fake-nodes", "1"), command(name, "up")
        assert first.stdout == second.stdout, first.stderr + second.stderr
        exported, _, path = first.stdout.strip().partition("=")
        assert (exported, Path(path).name) == ("export KUBECONFIG", "kubeconfig")
        status = command(name, "status")
        assert (status.returncode, "kwok" in status.stdout, ", serving" in status.stdout) == (0, True, True)
    finally:
        ended = command(name, "down")
    assert (ended.returncode, command(name, "down").returncode) == (0, 0)
    assert command(name, "status").returncode == 3
    assert is_gone(Path(path).parent)
