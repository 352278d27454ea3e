"""This machine or Kubernetes: options of the one are refused for the other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.cli.main import run
from minicluster.local import state_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.calls import Answer

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "hello-world" / "minicluster.yaml")
WRONG = [
    pytest.param("list --context c", "--context", id="context"),
    pytest.param("status mc -n ns", "--namespace", id="namespace"),
    pytest.param("logs mc --kubeconfig f", "--kubeconfig", id="kubeconfig"),
    pytest.param("list -A", "--all-namespaces", id="all-namespaces"),
    pytest.param("up f --force", "--force", id="force"),
    pytest.param("up f --image i", "--image", id="image"),
    pytest.param("up f --timeout 3", "--timeout", id="timeout"),
    pytest.param("scale mc 2 --no-wait", "--no-wait", id="scale-no-wait"),
    pytest.param("down mc --no-wait", "--no-wait", id="down-no-wait"),
    pytest.param("render f --context c", "--context", id="render"),
    pytest.param("validate f -n ns", "--namespace", id="validate"),
    pytest.param("submit mc --namespace ns true", "--namespace", id="submit"),
    pytest.param("jobs mc -n ns", "--namespace", id="jobs"),
    pytest.param("attach mc f1 --context c", "--context", id="attach"),
    pytest.param("cancel mc f1 --kubeconfig f", "--kubeconfig", id="cancel"),
    pytest.param("shell mc --context c", "--context", id="shell"),
]


@pytest.mark.parametrize(("words", "option"), WRONG)
def test_an_option_of_kubernetes_needs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, option: str
) -> None:
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    message = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert (
        end.value.code,
        f"Invalid value for {option}: has a meaning only with --on kubernetes" in message,
    ) == (
        2,
        True,
    ), message


def test_here_a_job_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster of this machine has no main command that one could mean."""
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", "attach", "mc"])
    with pytest.raises(SystemExit) as end:
        run()
    message = "Invalid value for JOB: is needed; `minicluster jobs` lists them"
    assert (end.value.code, message in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("options", [[], ["--on", "kubernetes"]], ids=["here", "kubernetes"])
def test_an_empty_job_is_no_main_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """`attach mc "$(minicluster submit …)"` where submit has failed would wait for ever."""
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["minicluster", "attach", "mc", "", *options])
    with pytest.raises(SystemExit) as end:
        run()
    message = "Invalid value for JOB: is empty (did the command fail that was to tell it?)"
    assert (end.value.code, message in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("command", ["attach", "cancel"])
def test_what_is_no_job_id_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """No cluster is needed to see that, and the message says where ids are found."""
    words = f"{command} mc ?? --on kubernetes -n ns --kubeconfig absent"
    monkeypatch.setattr(sys, "argv", ["minicluster", *words.split()])
    with pytest.raises(SystemExit) as end:
        run()
    message = "minicluster: ??: is no job id; `minicluster jobs mc --on kubernetes -n ns` lists them\n"
    assert (end.value.code, capsys.readouterr().err) == (2, message)


ELSEWHERE = "is not offered for clusters of this machine, which need Linux; --on kubernetes does not"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(("run", EXAMPLE), f"run: {ELSEWHERE}", id="run"),
        pytest.param(("run", "--", "true"), f"run: {ELSEWHERE}", id="run without a document"),
        pytest.param(("up", EXAMPLE), f"up: {ELSEWHERE}", id="up"),
        pytest.param(("list",), f"list: {ELSEWHERE}", id="list"),
        pytest.param(("status", "mc"), f"status: {ELSEWHERE}", id="status"),
        pytest.param(("submit", "mc", "true"), f"jobs: {ELSEWHERE}", id="submit"),
        pytest.param(("down", "mc"), f"down: {ELSEWHERE}", id="down"),
    ],
)
def test_outside_of_linux_clusters_of_this_machine_are_refused(
    monkeypatch: pytest.MonkeyPatch, call: Callable[..., Answer], words: tuple[str, ...], message: str
) -> None:
    """Before a directory is made, or what only Linux has is called."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(state_directory, "create", None)
    done = call(*words)
    assert (done.code, done.err) == (2, f"minicluster: {message}")


@pytest.mark.parametrize("command", ["validate", "render"])
def test_outside_of_linux_documents_are_validated_and_rendered(
    monkeypatch: pytest.MonkeyPatch, call: Callable[..., Answer], command: str
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    done = call(command, EXAMPLE)
    assert (done.code, done.err, "hello-world" in done.out) == (0, "", True)
