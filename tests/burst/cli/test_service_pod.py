"""Commands about the bursts of a service in a cluster: they run in its pod, and are printed here."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests import forked
from tests.burst.cli import far_pod
from tests.burst.cli.far_pod import pod
from tests.burst.cli.test_commands import burst, folder
from tests.burst.cli.test_costs import spent
from tests.burst.providers.kubernetes import fake_api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.burst.cli.far_pod import FarPod
    from tests.cli.calls import Answer

    Burst = Callable[..., Answer]

__all__ = ["burst", "folder", "spent"]
SERVICE = ("--on", "service")


@pytest.fixture
def far(folder: Path, tmp_path: Path) -> Iterator[FarPod]:
    """A service with the ledger of `spent`."""
    environment = {
        **{
            name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "MINICLUSTER_"))
        },
        "MINICLUSTER_BURST_SETTINGS": str(folder / "burst.yaml"),
        "MINICLUSTER_BURST_STATE": str(folder),
        "POD_NAMESPACE": far_pod.NAMESPACE,
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "HOME": "/nonexistent",
        "COLUMNS": "160",
    }
    with far_pod.serving(tmp_path, environment) as found:
        yield found


@pytest.fixture
def asked(call: Burst, far: FarPod, monkeypatch: pytest.MonkeyPatch) -> Burst:
    """Call `minicluster burst` for the service."""
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    return lambda *words: call("burst", *words, *SERVICE, "--kubeconfig", str(far.kubeconfig))


def test_costs_are_those_of_the_services_ledger(asked: Burst, far: FarPod, spent: float) -> None:
    del spent
    answer = asked("cost", "--period", "all", "--by", "user", "--output", "json")
    assert answer.code == 0, answer.err
    [row] = json.loads(answer.out)
    assert (row["scope"], row["charged"], row["reserved"]) == ("user:alice", "12.00", "9.00")
    assert "budget all: 131% of the 16.00 EUR are charged or reserved" in answer.err
    words = ["--period", "all", "--by", "user", "--output", "json"]
    assert far.commands == [["minicluster", "burst", "cost", "--on", "service", *words]]
    assert far.selectors == ["app.kubernetes.io/name=minicluster-burst"]


def test_a_report_is_written_here(asked: Burst, spent: float, tmp_path: Path) -> None:
    del spent
    page, facts = tmp_path / "here.html", tmp_path / "here.json"
    answer = asked("report", "--period", "all", "--output", str(page))
    assert (answer.code, answer.out) == (0, f"wrote {page}\n"), answer.err
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert page.read_text().rstrip().endswith("</html>")
    assert asked("report", "--period", "all", "--output", str(facts)).out == f"wrote {facts}\n"
    assert [each["burst"] for each in json.loads(facts.read_text())["bursts"]][-1] == "0000000003"
    printed = json.loads(asked("report", "--period", "all", "--output", "-").out)
    assert len(printed["bursts"]) == 3


def test_bursts_are_listed_shown_and_stopped_there(asked: Burst, spent: float) -> None:
    """With each character whole, wherever messages end."""
    del spent
    assert "0000000003" in asked("list", "--all").out
    shown = asked("show", "0000000003")
    assert "0000000003" in shown.out
    assert asked("stop", "0000000003").out.startswith("burst 0000000003 is to end")
    wrong = asked("show", "nope")
    assert (wrong.code, wrong.out) == (1, "")
    assert wrong.err == "minicluster: there is no burst 'nope'; `minicluster burst list --all` has all"


def test_a_report_that_cannot_be_made_there_is_not_written(
    asked: Burst, tmp_path: Path, spent: float
) -> None:
    del spent
    answer = asked("report", "--since", "yesterday", "--output", str(tmp_path / "here.html"))
    assert answer.code == 2
    assert "--since yesterday: is no date" in answer.err
    assert not (tmp_path / "here.html").exists()


def test_the_service_serves_by_itself(asked: Burst, spent: float) -> None:
    del spent
    answer = asked("serve")
    assert (answer.code, answer.err) == (
        *(2, "minicluster: --on service: the service in the cluster makes its bursts by itself"),
    )


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ([], ": none has the label app.kubernetes.io/name=minicluster-burst"),
        ([{**pod(), "status": {"phase": "Pending"}}], ": minicluster-burst-1 is Pending"),
        ([pod(deletionTimestamp="2026-11-28T00:00:00Z")], ": minicluster-burst-1 is being deleted"),
    ],
    ids=["none", "pending", "going"],
)
def test_where_no_pod_runs_the_message_has_what_there_is(
    asked: Burst, far: FarPod, pods: list[dict[str, object]], words: str
) -> None:
    far.pods = pods
    answer = asked("cost")
    message = "minicluster: no pod of a burst service runs in namespace minicluster-system (-n)"
    assert (answer.code, answer.err) == (1, f"{message}{words}")


def test_of_several_services_none_is_guessed(asked: Burst, far: FarPod) -> None:
    far.pods = [pod("a-1", "a"), pod("b-1", "b"), pod("b-2", "b")]
    answer = asked("cost")
    assert answer.code == 1
    assert "has several burst services, each with a ledger of its own: a, b" in answer.err
    far.pods = far.pods[1:]
    assert asked("cost").code == 0
    assert far.commands[0][:3] == ["minicluster", "burst", "cost"]


def test_who_may_run_no_command_there_is_refused_with_the_right(asked: Burst, far: FarPod) -> None:
    far.forbidden = True
    answer = asked("cost")
    assert answer.code == 1
    assert 'cannot create resource "pods/exec"' in answer.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--settings", "burst.yaml"), "--settings: the service has its own"),
        (("--state", "here"), "--state: the service has its own"),
        (("--all-namespaces",), "--all-namespaces: has a meaning only with --on kubernetes"),
    ],
    ids=["settings", "state", "all namespaces"],
)
def test_options_that_are_the_services_own_are_refused(
    asked: Burst, far: FarPod, words: tuple[str, ...], message: str
) -> None:
    answer = asked("cost", *words)
    assert (answer.code, far.commands) == (2, [])
    assert message in answer.err


KUBECONFIGS = {"name": "kubeconfig-lab", "mountPath": "/etc/minicluster-burst/kubeconfigs/lab"}


def test_in_its_pod_commands_are_about_the_service_with_its_tunnels_too(far: FarPod, tmp_path: Path) -> None:
    """As `kubectl exec` runs them: without an option, and with the chart's template of tunnels' pods."""
    (tmp_path / "far").mkdir()
    with fake_api.serving(tmp_path / "far") as (_, kubeconfig):
        settings, template = tmp_path / "clusters.yaml", tmp_path / "tunnel-pod.yaml"
        offers = [{"machine": "c8", "cores": 8}]
        given = {"kubeconfig": str(kubeconfig), "namespace": "bursts", "offers": offers}
        provider = {"name": "far", "kind": "kubernetes", "settings": given}
        settings.write_text(json.dumps({"providers": [provider]}))
        environment = {
            **far.environment,
            "MINICLUSTER_BURST_SETTINGS": str(settings),
            "MINICLUSTER_BURST_TUNNELS": str(template),
            "KUBECONFIG": str(kubeconfig),
        }

        def checked(mounts: list[dict[str, str]]) -> list[str]:
            container = {"name": "tunnel", "volumeMounts": mounts}
            template.write_text(json.dumps({"metadata": {}, "spec": {"containers": [container]}}))
            done = forked.completed(["burst", "check", "far"], environment)
            assert done.returncode == 0, done.stderr
            return done.stdout.splitlines()

        [problem, well] = checked([KUBECONFIGS])
        assert f"kubeconfig {kubeconfig} is not there for the pods of tunnels" in problem
        assert well == "far: all is well"
        assert checked([{**KUBECONFIGS, "mountPath": str(kubeconfig.parent)}]) == [well]
