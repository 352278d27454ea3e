"""`minicluster down` of what is to be saved first, on a real API server; the test plays the operator."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client.access import Access
from minicluster.plan.constants import BURST_FINALIZER, FINALIZER
from minicluster.remote import teardown
from minicluster.remote.session import Target, run
from tests.devcluster import Api, until
from tests.kubernetes.command_line import CommandLine, Operator

if TYPE_CHECKING:
    import subprocess

ARCHIVE = {"path": "/archive/mc.tgz"}
DUMP = {"path": "/archive/mc.tgz", "time": "2026-03-14T15:09:26Z", "jobs": 12, "restarted": 2, "lost": 1}


@pytest.fixture
def minicluster(api: Api, namespace: str) -> Iterator[CommandLine]:
    program = CommandLine(api.access.kubeconfig, namespace, api.access.context or "")
    yield program
    program.end()


@pytest.fixture
def operator(api: Api, namespace: str) -> Iterator[Operator]:
    found = Operator(api, namespace)
    yield found
    with contextlib.suppress(Exception):
        api.merge(found.path(), {"metadata": {"finalizers": None}})


def report_suspended(operator: Operator, status: str, reason: str, message: str, **more: Any) -> None:
    """Say how the condition Suspended is."""
    found = operator.api.get(operator.path())
    generation = found["metadata"]["generation"]
    condition = {"type": "Suspended", "status": status, "reason": reason, "message": message}
    more = {"phase": "Suspended" if status == "True" else "Running", **more}
    whole = {"observedGeneration": generation, "conditions": [condition], **more}
    operator.api.merge(f"{operator.path()}/status", {"status": whole})


def asked(operator: Operator) -> None:
    """Wait until it is to be suspended."""
    until(lambda: operator.api.get(operator.path())["spec"].get("suspend"), "the suspension")


def line(process: "subprocess.Popen[str]") -> str:
    """Return the next line that is told."""
    assert process.stderr is not None
    return process.stderr.readline()


def test_it_is_saved_before_it_is_deleted(minicluster: CommandLine, operator: Operator) -> None:
    operator.make(archive=ARCHIVE)
    process = minicluster.begin("down", "mc", "--dump")
    asked(operator)
    report_suspended(
        operator, "False", "Saving", "saving to /archive/mc.tgz before its pods go: waiting for 2 jobs"
    )
    assert line(process) == (
        "minicluster: mc: saving to /archive/mc.tgz before its pods go: waiting for 2 jobs\n"
    )
    assert operator.exists()
    report_suspended(operator, "True", "Suspended", "suspended", lastDump=DUMP)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (
        0,
        (
            "cluster mc is down\n"
            "saved to /archive/mc.tgz: 12 jobs that had not ended, 2 to be started again, 1 lost\n"
        ),
    )
    assert not operator.exists()


@pytest.mark.parametrize(
    "words", ["nothing was saved to /archive/mc.tgz: no space left on device", "reworded"]
)
def test_what_cannot_be_saved_goes_on(minicluster: CommandLine, operator: Operator, words: str) -> None:
    """An operator of 0.1.0 says so in words only; those of a later one may be others."""
    operator.make(archive=ARCHIVE)
    process = minicluster.begin("down", "mc", "--dump", "/archive/mc.tgz")
    asked(operator)
    why, at = "nothing was saved to /archive/mc.tgz: no space left on device", "2026-03-14T15:10:26Z"
    failed = {"phase": "Failed", "startedAt": at, "error": "no space left on device", "retryAt": at}
    more = {"save": failed} if words == "reworded" else {}
    report_suspended(operator, "False", "SaveFailed", f"{words}; it is tried again at {at}", **more)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[-1]) == (1, f"minicluster: cluster mc: {why}; it goes on")
    assert operator.api.get(operator.path())["spec"]["suspend"] is False


def test_what_is_suspended_without_being_saved_is_not_deleted(
    minicluster: CommandLine, operator: Operator
) -> None:
    operator.make(archive=ARCHIVE)
    process = minicluster.begin("down", "mc", "--dump")
    asked(operator)
    report_suspended(operator, "False", "NotSaved", "nothing is known to be saved")
    assert line(process) == "minicluster: mc: nothing is known to be saved\n"
    report_suspended(operator, "True", "Suspended", "suspended")
    _, err = process.communicate(timeout=60)
    expected = "minicluster: cluster mc: nothing is known to be saved; it is suspended, and not deleted"
    assert (process.returncode, err.splitlines()[-1]) == (1, expected)
    assert operator.exists()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_one_that_has_ended_has_nothing_to_save(
    minicluster: CommandLine, operator: Operator, phase: str
) -> None:
    operator.make(archive=ARCHIVE)
    report_suspended(operator, "False", "NotSuspended", "not suspended", phase=phase)
    done = minicluster("down", "mc", "--dump")
    assert (done.returncode, done.stdout) == (0, "cluster mc is down\nthere was nothing to save\n")


@pytest.mark.parametrize(
    ("spec", "words", "message"),
    [
        pytest.param(
            {},
            ["--dump"],
            "cluster mc: has no spec.archive.path, the file on a volume of its brokers to which it could"
            " be saved; that is set when a MiniCluster is made",
            id="no archive",
        ),
        pytest.param(
            {"archive": ARCHIVE},
            ["--dump", "saved.dump"],
            "--dump saved.dump: in Kubernetes cluster mc is saved to its spec.archive.path, /archive/mc.tgz:"
            " give that file, or none",
            id="another file",
        ),
        pytest.param(
            {"archive": ARCHIVE, "jobLabels": {"kueue.x-k8s.io/queue-name": "q"}},
            ["--dump"],
            "cluster mc: Kueue suspends it, and then it is saved to /archive/mc.tgz; leave --dump out:"
            " it is saved before it is deleted as well, and an Event says how",
            id="in a queue",
        ),
    ],
)
def test_what_cannot_be_asked_for(
    minicluster: CommandLine, operator: Operator, spec: Any, words: list[str], message: str
) -> None:
    operator.make(**spec)
    done = minicluster("down", "mc", *words)
    assert (done.returncode, done.stderr) == (2, f"minicluster: {message}\n")
    assert operator.exists()


def test_a_plain_deletion_leaves_the_pods_to_the_operator(
    minicluster: CommandLine, operator: Operator
) -> None:
    """In the foreground they would be told to go at once, and not after they were saved."""
    made = operator.make(archive=ARCHIVE)
    operator.api.merge(operator.path(), {"metadata": {"finalizers": [FINALIZER]}})
    owner = {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": "mc",
        "uid": made["metadata"]["uid"],
    }
    maps = f"/api/v1/namespaces/{operator.namespace}/configmaps"
    operator.api.create(maps, {"metadata": {"name": "ours", "ownerReferences": [owner]}})
    process = minicluster.begin("down", "mc")
    until(lambda: "deletionTimestamp" in operator.api.get(operator.path())["metadata"], "the deletion")
    assert operator.api.get(operator.path())["metadata"]["finalizers"] == [FINALIZER]
    report_suspended(operator, "False", "Saving", "saving before it is deleted")
    assert line(process) == "minicluster: mc: saving before it is deleted\n"
    assert operator.api.exists(f"{maps}/ours")
    operator.api.merge(operator.path(), {"metadata": {"finalizers": None}})
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "cluster mc is down\n")


def test_without_an_operator_a_deletion_names_the_finalizer_that_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, minicluster: CommandLine, operator: Operator
) -> None:
    monkeypatch.setattr(teardown, "REMINDER", 0.05)
    operator.make(archive=ARCHIVE)
    operator.api.merge(operator.path(), {"metadata": {"finalizers": [FINALIZER]}})
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    notices: list[str] = []

    def release(text: str) -> None:
        notices.append(text)
        operator.api.merge(operator.path(), {"metadata": {"finalizers": None}})

    target = Target(Access(str(minicluster.kubeconfig), minicluster.context), operator.namespace)
    run(target, lambda session: teardown.delete(session, "mc"), notice=release, timeout=30)
    assert notices[0] == (
        f"mc: waiting for an operator to save it, and to take its finalizer {FINALIZER} off: is one running?"
        " Ask whoever administers the cluster, or see docs/kubernetes.md to start one with"
        " `minicluster operator`; docs/troubleshooting.md has how to delete it unsaved"
    )


def test_one_with_bursts_keeps_its_pods_until_they_are_deleted(
    monkeypatch: pytest.MonkeyPatch, minicluster: CommandLine, operator: Operator
) -> None:
    """In the foreground its lead would be gone at once, and with it the jobs that are being drained off."""
    monkeypatch.setattr(teardown, "REMINDER", 0.05)
    operator.make()
    operator.api.merge(operator.path(), {"metadata": {"finalizers": [BURST_FINALIZER]}})
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs")
    seen: list[tuple[str, list[str]]] = []

    def release(text: str) -> None:
        about = operator.api.get(operator.path())["metadata"]
        seen.append((text, about["finalizers"]))
        operator.api.merge(operator.path(), {"metadata": {"finalizers": None}})

    target = Target(Access(str(minicluster.kubeconfig), minicluster.context), operator.namespace)
    run(target, lambda session: teardown.delete(session, "mc"), notice=release, timeout=30)
    text, finalizers = seen[0]
    assert text.startswith(
        "mc: waiting for its bursts to be deleted; then a burst service takes its finalizer"
    )
    assert finalizers == [BURST_FINALIZER], "none for the foreground"
