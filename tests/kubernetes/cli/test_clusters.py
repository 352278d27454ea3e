"""up, scale and down on a real API server; the test plays the operator."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client.access import Access
from minicluster.remote import teardown
from minicluster.remote.session import Target, run
from tests import forked
from tests.devcluster import Api, ControlPlane, until
from tests.kubernetes.command_line import CommandLine, Operator, document, written

if TYPE_CHECKING:
    import subprocess

FINALIZER = "test.minicluster/held"


@pytest.fixture
def minicluster(api: Api, namespace: str) -> Iterator[CommandLine]:
    program = CommandLine(api.access.kubeconfig, namespace, api.access.context or "")
    yield program
    program.end()


@pytest.fixture
def operator(api: Api, namespace: str) -> Operator:
    return Operator(api, namespace)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_up_applies_what_was_written_and_nothing_else(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    """Whoever applies a field holds it: defaults are left to the API server."""
    done = minicluster("up", written(tmp_path, document()), "--no-wait")
    assert (done.returncode, done.stdout) == (
        0,
        f"cluster mc is accepted in namespace {operator.namespace}\n",
    ), done.stderr
    (entry,) = operator.api.get(operator.path())["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("minicluster-cli", "Apply")
    assert set(entry["fieldsV1"]["f:spec"]) == {"f:size", "f:maxSize", "f:containers"}


def test_up_prints_each_stage_and_ends_when_it_runs(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    process = minicluster.begin("up", written(tmp_path, document()))
    until(operator.exists, "the MiniCluster")
    operator.report_status("Pending", "ResourcesCreated", "Creating", "8 objects are being made")
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc: Pending: 8 objects are being made\n"
    operator.report_status("Starting", "Running", "PodsStarting", "1 of 2 pods run")
    assert process.stderr.readline() == "minicluster: mc: Starting: 1 of 2 pods run\n"
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    assert ended(process) == (
        0,
        f"cluster mc is Running in namespace {operator.namespace}\n",
        "minicluster: mc: Running: the main command runs\n",
    )


ENDS = [
    pytest.param(("Succeeded", "Succeeded", "CommandSucceeded"), {"exitCode": 0}, 0, id="succeeded"),
    pytest.param(("Failed", "Failed", "CommandFailed"), {"exitCode": 3}, 3, id="failed-with-3"),
    pytest.param(("Failed", "Failed", "TooManyLostPods"), {}, 125, id="failed-without-a-code"),
    pytest.param(("Invalid", "Valid", "Invalid"), {}, 1, id="invalid"),
    pytest.param(("Suspended", "Suspended", "Suspended"), {}, 0, id="suspended-by-the-document"),
]


@pytest.mark.parametrize(("outcome", "status", "code"), ENDS)
def test_up_ends_with(
    minicluster: CommandLine,
    operator: Operator,
    tmp_path: Path,
    outcome: tuple[str, str, str],
    status: dict[str, int],
    code: int,
) -> None:
    """The exit code says how it went: the main command's own, where there is one."""
    process = minicluster.begin("up", written(tmp_path, document(suspend=outcome[0] == "Suspended")))
    until(operator.exists, "the MiniCluster")
    operator.report_status(*outcome, "so it is", **status)
    found, _, err = ended(process)
    assert (found, err.endswith(f"mc: {outcome[0]}: so it is\n")) == (code, True), err


def test_a_status_of_an_older_document_is_not_waited_for(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    minicluster("up", written(tmp_path, document()), "--no-wait")
    operator.report_status("Failed", "Failed", "CommandFailed", "was so before", exitCode=3)
    process = minicluster.begin("up", written(tmp_path, document(suspend=True)))
    until(lambda: operator.api.get(operator.path())["spec"].get("suspend"), "the new document")
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    code, _, err = ended(process)
    assert (code, "was so before" in err) == (0, False), err


def test_up_reports_that_no_operator_answers_and_goes_on_waiting(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    process = minicluster.begin("up", written(tmp_path, document()))
    assert process.stderr is not None
    assert process.stderr.readline() == (
        "minicluster: mc: no operator has looked at it yet; nothing happens until one does: is one running?"
        " Ask whoever administers the cluster, or see docs/kubernetes.md to start one with"
        " `minicluster operator`\n"
    )
    operator.report_status("Running", "Running", "ReadyForWork", "the instance is up and waits for work")
    assert ended(process)[0] == 0


def test_up_waits_no_longer_than_its_timeout(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    done = minicluster("up", written(tmp_path, document()), "--timeout", "500ms")
    assert (done.returncode, done.stderr) == (
        124,
        "minicluster: not done within 0.5 s (--timeout); what was asked for goes on in the cluster\n",
    )
    assert operator.exists()


def test_up_reports_when_the_cluster_was_deleted_meanwhile(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    process = minicluster.begin("up", written(tmp_path, document()))
    until(operator.exists, "the MiniCluster")
    operator.api.delete(operator.path())
    assert ended(process)[::2] == (1, "minicluster: cluster mc: was deleted meanwhile\n")


def test_ctrl_c_ends_the_waiting_only(minicluster: CommandLine, operator: Operator, tmp_path: Path) -> None:
    process = minicluster.begin("up", written(tmp_path, document()))
    until(operator.exists, "the MiniCluster")
    operator.report_status("Pending", "ResourcesCreated", "Creating", "begun")
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc: Pending: begun\n"
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "", "")
    assert operator.exists()


def test_a_wait_outlives_a_restart_of_the_api_server(
    plane: ControlPlane, minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    process = minicluster.begin("up", written(tmp_path, document()))
    until(operator.exists, "the MiniCluster")
    operator.report_status("Pending", "ResourcesCreated", "Creating", "begun")
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc: Pending: begun\n"
    plane.apiserver.restart()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    code, _, err = ended(process)
    assert code == 0, err


def test_a_file_may_hold_several_clusters_and_the_data_beside_them(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "input"}, "data": {"a": "b"}}
    other = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    path = written(tmp_path, document("one"), data, other, document("two"))
    process = minicluster.begin("up", path)
    for name in ("one", "two"):
        until(lambda name=name: operator.exists(name), name)
        operator.report_status("Running", "Running", "CommandRunning", "the main command runs", name=name)
    code, out, err = ended(process)
    assert (code, [line.split()[1] for line in out.splitlines()]) == (0, ["one", "two"])
    assert operator.api.exists(f"/api/v1/namespaces/{operator.namespace}/configmaps/input")
    assert "skipped Service web (kubectl apply -f takes it)" in err


def test_name_and_size_choose(minicluster: CommandLine, operator: Operator, tmp_path: Path) -> None:
    path = written(tmp_path, document("one"), document("two"))
    assert minicluster("up", path, "--name", "two", "--size", 3, "--no-wait").returncode == 0
    assert not operator.exists("one")
    assert operator.api.get(operator.path("two"))["spec"]["size"] == 3


def test_an_image_of_ones_own_is_tried(minicluster: CommandLine, operator: Operator, tmp_path: Path) -> None:
    path = written(tmp_path, document())
    assert minicluster("up", path, "--image", "registry/mine", "--no-wait").returncode == 0
    (container,) = operator.api.get(operator.path())["spec"]["containers"]
    assert container == {**container, "image": "registry/mine", "command": "hostname"}


def test_a_command_is_run_without_a_file(minicluster: CommandLine, operator: Operator) -> None:
    """`minicluster init … | minicluster up -` is what `minicluster run -- COMMAND` is on this machine."""
    made = forked.completed(["init", "--size", "2", "--", "./a.out", "--steps", "10"], os.environ)
    done = minicluster.process("up", "-", "--no-wait", given=made.stdout)
    message = f"cluster a-out is accepted in namespace {operator.namespace}\n"
    assert (made.returncode, done.returncode, done.stdout) == (0, 0, message), done.stderr
    spec = operator.api.get(operator.path("a-out"))["spec"]
    assert (spec["size"], spec["containers"][0]["command"]) == (2, "./a.out --steps 10")


def test_a_field_that_somebody_else_set_is_named_and_left(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    path = written(tmp_path, document(suspend=False))
    minicluster("up", path, "--no-wait")
    operator.api.call(
        "PATCH",
        f"{operator.path()}?fieldManager=kubectl-edit",
        {"spec": {"suspend": True}},
        "application/merge-patch+json",
    )
    done = minicluster("up", path, "--no-wait")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        (
            f"minicluster: {path}:{line(path, 'suspend')}: spec.suspend: is true in the cluster, the document"
            ' says false; it was set by kubectl edit (field manager "kubectl-edit")'
        ),
        (
            "minicluster: --force sets them as the document says; else leave them out of the document,"
            " or change it"
        ),
    ]
    assert operator.api.get(operator.path())["spec"]["suspend"] is True


def test_force_takes_fields_over(minicluster: CommandLine, operator: Operator, tmp_path: Path) -> None:
    operator.make(suspend=True)
    path = written(tmp_path, document(suspend=False))
    assert minicluster("up", path, "--no-wait").returncode == 1
    assert minicluster("up", path, "--no-wait", "--force").returncode == 0
    assert operator.api.get(operator.path())["spec"]["suspend"] is False


def test_a_size_that_was_scaled_is_not_set_back_unasked(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    path = written(tmp_path, document())
    minicluster("up", path, "--no-wait")
    minicluster("scale", "mc", 3, "--no-wait")
    done = minicluster("up", path, "--no-wait")
    assert done.returncode == 1
    assert (
        "spec.size: is 3 in the cluster, the document says 2; it was set by minicluster scale" in done.stderr
    )


def line(path: Path, word: str) -> int:
    """Return the line in which a word stands."""
    return next(number for number, text in enumerate(path.read_text().splitlines(), 1) if word in text)


def test_scale_waits_until_the_pods_are_there(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    operator.report_status("Running", "Resizing", "AtSize", "the MiniCluster has its size of 2")
    process = minicluster.begin("scale", "mc", 4)
    until(lambda: operator.api.get(operator.path())["spec"]["size"] == 4, "the new size")
    operator.report_status("Resizing", "Resizing", "Growing", "growing to 4 pods")
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc: Resizing: growing to 4 pods\n"
    operator.report_status("Running", "Resizing", "AtSize", "the MiniCluster has its size of 4")
    assert ended(process)[:2] == (0, "cluster mc: 2 → 4 brokers\n")


def test_scale_to_the_size_that_somebody_else_asked_for_waits_for_it(
    minicluster: CommandLine, operator: Operator
) -> None:
    operator.make()
    operator.report_status("Resizing", "Resizing", "Growing", "growing to 2 pods")
    process = minicluster.begin("scale", "mc", 2)
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc: Resizing: growing to 2 pods\n"
    operator.report_status("Running", "Resizing", "AtSize", "the MiniCluster has its size of 2")
    message = "cluster mc: has 2 brokers already\n"
    assert ended(process)[:2] == (0, message)
    assert minicluster("scale", "mc", 2).stdout == message


@pytest.mark.parametrize(
    ("size", "printed"),
    [(2, "cluster mc: has 2 brokers already\n"), (3, "cluster mc: 2 → 3 brokers asked for\n")],
    ids=["the-same", "another"],
)
def test_scale_need_not_wait(minicluster: CommandLine, operator: Operator, size: int, printed: str) -> None:
    operator.make()
    assert minicluster("scale", "mc", size, "--no-wait").stdout == printed


def test_scale_ends_where_the_operator_cannot_do_it(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    process = minicluster.begin("scale", "mc", 4)
    until(lambda: operator.api.get(operator.path())["spec"]["size"] == 4, "the new size")
    operator.report_status("Invalid", "Valid", "SizeOutOfRange", "the brokers were started with 3 hosts")
    code, _, err = ended(process)
    assert (code, "cluster mc: Invalid: the brokers were started with 3 hosts" in err) == (1, True)


def test_down_waits_until_everything_is_gone(
    minicluster: CommandLine, operator: Operator, namespace: str
) -> None:
    blocker = {"name": "held", "ownerReferences": [owner(operator.make())], "finalizers": [FINALIZER]}
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    operator.api.create(maps, {"metadata": blocker})
    process = minicluster.begin("down", "mc")
    until(lambda: "deletionTimestamp" in operator.api.get(f"{maps}/held")["metadata"], "the deletion")
    assert (operator.exists(), process.poll()) == (True, None)
    operator.api.merge(f"{maps}/held", {"metadata": {"finalizers": None}})
    assert ended(process)[:2] == (0, "cluster mc is down\n")
    assert not operator.exists()


def owner(made: dict[str, Any]) -> dict[str, Any]:
    """Return the reference by which an object belongs to a MiniCluster."""
    known = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": "mc"}
    return known | {"uid": made["metadata"]["uid"], "blockOwnerDeletion": True, "controller": True}


def test_a_deletion_that_takes_long_reports_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, minicluster: CommandLine, operator: Operator
) -> None:
    monkeypatch.setattr(teardown, "REMINDER", 0.05)
    labels = {"app.kubernetes.io/name": "minicluster", "app.kubernetes.io/instance": "mc"}
    metadata = {"name": "mc-0", "labels": labels, "ownerReferences": [owner(operator.make())]}
    pod = {"containers": [{"name": "flux", "image": "x"}], "nodeName": "nowhere"}
    path = f"/api/v1/namespaces/{operator.namespace}/pods"
    operator.api.create(path, {"metadata": metadata | {"finalizers": [FINALIZER]}, "spec": pod})
    notices: list[str] = []

    def release(text: str) -> None:
        notices.append(text)
        if len(notices) > 1:
            return
        operator.api.merge(f"{path}/mc-0", {"metadata": {"finalizers": None}})
        operator.api.delete(f"{path}/mc-0", gracePeriodSeconds="0")

    target = Target(Access(str(minicluster.kubeconfig), minicluster.context), operator.namespace)
    run(target, lambda session: teardown.delete(session, "mc"), notice=release, timeout=30)
    assert notices[0] == "mc: waiting for its pods mc-0 to go"


def test_down_need_not_wait(minicluster: CommandLine, operator: Operator) -> None:
    operator.make()
    assert minicluster("down", "mc", "--no-wait").stdout == "cluster mc is being deleted\n"
