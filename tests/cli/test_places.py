"""This machine or Kubernetes: options of the one are refused for the other."""

import sys

import pytest

from minicluster.cli.main import run

WRONG = [
    pytest.param("list --context c", "--context", id="context"),
    pytest.param("status mc -n ns", "--namespace", id="namespace"),
    pytest.param("logs mc --kubeconfig f", "--kubeconfig", id="kubeconfig"),
    pytest.param("list -A", "--all-namespaces", id="all-namespaces"),
    pytest.param("up f --force", "--force", id="force"),
    pytest.param("up f --timeout 3", "--timeout", id="timeout"),
    pytest.param("scale mc 2 --no-wait", "--no-wait", id="scale-no-wait"),
    pytest.param("down mc --no-wait", "--no-wait", id="down-no-wait"),
    pytest.param("render f --context c", "--context", id="render"),
    pytest.param("validate f -n ns", "--namespace", id="validate"),
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
    said = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert (
        end.value.code,
        f"Invalid value for {option}: has a meaning only with --on kubernetes" in said,
    ) == (
        2,
        True,
    ), said
