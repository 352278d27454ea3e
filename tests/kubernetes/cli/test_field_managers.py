"""`minicluster up` of a file that kubectl has applied, and kubectl after it, on a real API server."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import Api
from tests.devcluster.lookup import kubernetes, locate
from tests.kubernetes.command_line import CommandLine, Operator, document, written

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
EXAMPLE = EXAMPLES / "hello-world" / "minicluster.yaml"
WAYS = pytest.mark.parametrize("way", [[], ["--server-side"]], ids=["client-side", "server-side"])


@pytest.fixture
def minicluster(api: Api, namespace: str) -> CommandLine:
    return CommandLine(api.access.kubeconfig, namespace, api.access.context or "")


@pytest.fixture
def operator(api: Api, namespace: str) -> Operator:
    return Operator(api, namespace)


@pytest.fixture
def kubectl(programs: None, api: Api, namespace: str) -> Kubectl:
    """The real kubectl, in the test's namespace."""
    program = locate(kubernetes()).get("kubectl") or shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl beside the other programs of Kubernetes, nor on PATH")
    options = ["--kubeconfig", api.access.kubeconfig, "--namespace", namespace]
    options += ["--context", api.access.context] if api.access.context else []

    def call(*words: object) -> "subprocess.CompletedProcess[str]":
        line = [str(each) for each in (program, *options, *words)]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)

    return call


def owners(operator: Operator, name: str, field: str) -> list[str]:
    """Return the field managers of a field of `spec`."""
    entries = operator.api.get(operator.path(name))["metadata"]["managedFields"]
    return sorted({each["manager"] for each in entries if f"f:{field}" in each["fieldsV1"].get("f:spec", {})})


@WAYS
def test_a_file_that_kubectl_has_applied_is_no_difference(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator, way: list[str]
) -> None:
    """The containers have a default, and stay kubectl's: it applies the file again as before."""
    first = kubectl("apply", *way, "-f", EXAMPLE)
    assert first.returncode == 0, first.stderr
    before = operator.api.get(operator.path("hello-world"))
    holder = owners(operator, "hello-world", "containers")

    done = minicluster("up", EXAMPLE, "--no-wait")
    assert (done.returncode, done.stderr) == (0, "")
    after = operator.api.get(operator.path("hello-world"))
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], 1)
    assert owners(operator, "hello-world", "containers") == holder

    again = kubectl("apply", *way, "-f", EXAMPLE)
    assert again.returncode == 0, again.stderr
    assert minicluster("up", EXAMPLE, "--no-wait").returncode == 0


def test_every_example_that_kubectl_has_applied_is_no_difference(
    kubectl: Kubectl, minicluster: CommandLine
) -> None:
    """Also those with services, other lists, and data beside them."""
    refused = {}
    for path in sorted(EXAMPLES.rglob("*.y*ml")):
        kinds = {each["kind"] for each in yaml.safe_load_all(path.read_text()) if each and "kind" in each}
        if "MiniCluster" not in kinds or not kinds <= {"MiniCluster", "ConfigMap", "Secret"}:
            continue
        first = kubectl("apply", "-f", path)
        done = minicluster("up", path, "--no-wait")
        refused[path.relative_to(EXAMPLES)] = (first.returncode, done.returncode, first.stderr + done.stderr)
    assert len(refused) > 5
    assert {name: each for name, each in refused.items() if each[:2] != (0, 0)} == {}


@WAYS
def test_what_differs_from_what_kubectl_has_applied_is_refused_by_name(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator, tmp_path: Path, way: list[str]
) -> None:
    """--force does what the message says, and only that."""
    path = written(tmp_path, document())
    assert kubectl("apply", *way, "-f", path).returncode == 0
    changed = written(tmp_path, document(containers=[{"image": "ubuntu:26.04", "command": "hostname"}]))
    known = {0: 'kubectl apply (field manager "kubectl-client-side-apply")'}
    holder = known.get(len(way), 'kubectl apply --server-side (field manager "kubectl")')
    done = minicluster("up", changed, "--no-wait")
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"minicluster: {changed}:{line(changed, 'image')}: spec.containers[0].image: is ubuntu:24.04"
            f" in the cluster, the document says ubuntu:26.04; it was set by {holder}\n"
            "minicluster: --force sets them as the document says; else change the document to what the"
            " cluster has\n"
        ),
    )
    assert image(operator) == "ubuntu:24.04"
    assert minicluster("up", changed, "--no-wait", "--force").returncode == 0
    assert image(operator) == "ubuntu:26.04"


def test_what_force_cannot_change_either_is_reported_as_that(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    assert kubectl("apply", "-f", written(tmp_path, document(tasks=2))).returncode == 0
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", maximumSize=4)
    path = written(tmp_path, document(tasks=7))
    done = minicluster("up", path, "--no-wait")
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"minicluster: {path}:{line(path, 'tasks')}: spec.tasks: spec.tasks cannot change once brokers"
            " were made (the main command is submitted once); make a new MiniCluster\n"
        ),
    )


def test_kubectl_takes_over_with_force_conflicts_once(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator
) -> None:
    """After `up` it is refused without; from then on both apply the same file."""
    assert minicluster("up", EXAMPLE, "--no-wait").returncode == 0
    refused = kubectl("apply", "--server-side", "-f", EXAMPLE)
    assert (refused.returncode, 'conflict with "minicluster-cli": .spec.containers' in refused.stderr) == (
        1,
        True,
    )
    taken = kubectl("apply", "--server-side", "--force-conflicts", "-f", EXAMPLE)
    assert taken.returncode == 0, taken.stderr
    assert minicluster("up", EXAMPLE, "--no-wait").returncode == 0
    again = kubectl("apply", "--server-side", "-f", EXAMPLE)
    assert again.returncode == 0, again.stderr
    assert owners(operator, "hello-world", "containers") == ["kubectl"]


def test_kubectl_apply_follows_up_without_more(kubectl: Kubectl, minicluster: CommandLine) -> None:
    assert minicluster("up", EXAMPLE, "--no-wait").returncode == 0
    done = kubectl("apply", "-f", EXAMPLE)
    assert (done.returncode, done.stdout) == (
        0,
        "minicluster.flux-framework.org/hello-world configured\n",
    ), done.stderr


def test_a_scaled_size_is_named_alone(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    """The containers beside it are equal, and are no part of the message; the size may be left out."""
    path = written(tmp_path, document())
    assert kubectl("apply", "-f", path).returncode == 0
    assert minicluster("scale", "mc", 3, "--no-wait").returncode == 0
    done = minicluster("up", path, "--no-wait")
    where, advice = done.stderr.splitlines()
    assert (done.returncode, "spec.size: is 3 in the cluster, the document says 2" in where) == (1, True)
    assert "leave them out of the document" in advice
    without: dict[str, Any] = document()
    del without["spec"]["size"]
    assert minicluster("up", written(tmp_path, without), "--no-wait").returncode == 0
    assert operator.api.get(operator.path())["spec"]["size"] == 3


def test_a_size_that_the_autoscaler_has_set_stays_in_a_file_that_kubectl_has_applied(
    kubectl: Kubectl, minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    path = written(tmp_path, document(autoscaling={}))
    assert kubectl("apply", "-f", path).returncode == 0
    operator.api.call(
        "PATCH",
        f"{operator.path()}/scale?fieldManager=kube-controller-manager",
        {"spec": {"replicas": 3}},
        "application/merge-patch+json",
    )
    done = minicluster("up", path, "--no-wait")
    assert (done.returncode, done.stderr) == (
        0,
        "minicluster: mc: spec.size stays as the autoscaler has set it (--force sets it)\n",
    )
    assert operator.api.get(operator.path())["spec"]["size"] == 3


def test_what_the_guide_has_for_kubectl_alone_works(
    kubectl: Kubectl, operator: Operator, tmp_path: Path
) -> None:
    """The table's commands in their order, each with the status that it waits for."""
    path = written(tmp_path, document())
    _, _, section = (ROOT / "docs" / "kubernetes.md").read_text().partition("\n## With kubectl alone\n")
    table, _, _ = section.partition("\n## ")
    shown = re.findall(r"`(kubectl (?:[a-z]+) [^`]+)`", table)
    for command in shown:
        condition = re.search(r"--for=condition=(\w+)", command)
        if condition:
            reason = "AtSize" if condition[1] == "Resizing" else "CommandRunning"
            operator.report_status("Running", condition[1], reason, "so it is")
        words = shlex.split(command.replace("NAME", "mc").replace("FILE", str(path)))
        done = kubectl(*words[1:])
        assert done.returncode == 0, (command, done.stderr)
    assert len(shown) > 8
    assert not operator.exists()


def image(operator: Operator) -> str:
    """Return the image of the only container."""
    (container,) = operator.api.get(operator.path())["spec"]["containers"]
    return str(container["image"])


def line(path: Path, word: str) -> int:
    """Return the line in which a word stands."""
    return next(number for number, text in enumerate(path.read_text().splitlines(), 1) if word in text)
