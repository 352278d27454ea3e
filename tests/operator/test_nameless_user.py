"""The shipped pods run as a uid without a name: their programs start, and explain what such a user lacks."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from minicluster.lead_client import key_store
from minicluster.lead_client.errors import LeadKeysError
from tests.deploy.files import INSTALL, NAMESPACE, Object, objects, the
from tests.devcluster import until
from tests.devcluster.certificates import authority
from tests.kubernetes.adapters import AGGREGATED_BY, Adapter
from tests.kubernetes.operators import Operator
from tests.operator import nameless_user, stub_api_server

OPERATOR, ADAPTER = "minicluster-operator", "minicluster-operator-adapter"
SHIPPED = objects(INSTALL.read_text())


def pod(name: str) -> Object:
    """Return the shipped specification of a Deployment's pods."""
    found: Object = the(SHIPPED, "Deployment", name)["spec"]["template"]["spec"]
    return found


def shipped(name: str, program: str) -> list[str]:
    """Return the command line of a shipped pod, listening on any free port of this machine."""
    [container] = pod(name)["containers"]
    arguments = [each for each in container["args"] if not each.startswith("--listen=")]
    words = [program, *arguments, "--listen=127.0.0.1:0"]
    return nameless_user.command(pod(name)["securityContext"]["runAsUser"], words)


@pytest.fixture
def variables(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield the variables of a pod whose API server knows by what its front proxy is known."""
    front_proxy = {"requestheader-client-ca-file": authority(tmp_path, "front-proxy-ca").file.read_text()}
    with stub_api_server.serving({AGGREGATED_BY: {"data": front_proxy}}) as server:
        kubeconfig = tmp_path / "kubeconfig"
        context = {"name": "here", "context": {"cluster": "stub", "user": "pod"}}
        content = {
            "current-context": "here",
            "contexts": [context],
            "clusters": [{"name": "stub", "cluster": {"server": server.url}}],
            "users": [{"name": "pod", "user": {}}],
        }
        kubeconfig.write_text(yaml.safe_dump(content))
        pod_variables = {"POD_NAME": "operator-0", "POD_NAMESPACE": NAMESPACE}
        yield nameless_user.environment(KUBECONFIG=str(kubeconfig), **pod_variables)


def launched(argv: list[str], log: Path, variables: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a program that logs into a file."""
    with log.open("ab") as output:
        return subprocess.Popen(argv, env=variables, cwd="/", stdout=output, stderr=output)


def test_the_operator_becomes_ready(tmp_path: Path, variables: dict[str, str]) -> None:
    argv = shipped(OPERATOR, "operator")
    found = Operator(launched(argv, tmp_path / "log", variables), tmp_path / "log")
    try:
        assert found.ready().stop() == 0
    finally:
        found.kill()


def test_the_adapter_serves(tmp_path: Path, variables: dict[str, str]) -> None:
    argv = shipped(ADAPTER, "metrics-adapter")
    found = Adapter(launched(argv, tmp_path / "log", variables), tmp_path / "log")
    try:
        assert until(found.listening, "the adapter to serve") == found.port
        assert found.stop() == 0
    finally:
        found.kill()


@pytest.mark.parametrize("program", ["", "operator", "metrics-adapter"])
def test_the_help_is_shown(program: str) -> None:
    argv = nameless_user.command(65532, [*program.split(), "--help"])
    found = subprocess.run(
        argv, env=nameless_user.environment(), cwd="/", capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "Usage: " in found.stdout


@pytest.mark.parametrize("program", ["operator", "metrics-adapter"])
def test_without_a_way_to_a_cluster_the_reason_is_logged(program: str) -> None:
    argv = nameless_user.command(65532, [program, "--listen=127.0.0.1:0"])
    found = subprocess.run(
        argv, env=nameless_user.environment(), cwd="/", capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "there is no kubeconfig ~/.kube/config; set KUBECONFIG, or give --kubeconfig FILE" in found.stderr
    assert "Traceback" not in found.stderr


def test_without_a_home_directory_the_path_of_the_keys_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    for name in ("HOME", key_store.STATE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(LeadKeysError) as caught:
        key_store.directory()
    assert str(caught.value) == (
        "this user has no home directory, where the operator keeps its keys:"
        " set XDG_STATE_HOME to a directory of your own"
    )
