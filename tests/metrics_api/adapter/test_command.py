"""`minicluster metrics-adapter` refuses what it cannot be started with."""

import pytest
from typer.testing import CliRunner

from metrics_api.adapter.command import app

WRONG = {
    "service without a name": (["--service", "system"], "NAMESPACE/NAME"),
    "service with two slashes": (["--service", "a/b/c"], "NAMESPACE/NAME"),
    "service without its port": (["--service", "a/b:"], "NAMESPACE/NAME"),
    "port 0 of a service": (["--service", "a/b:0"], "NAMESPACE/NAME"),
    "no port": (["--listen", "127.0.0.1"], "ADDRESS:PORT"),
    "too large a port": (["--listen", ":65536"], "ADDRESS:PORT"),
    "bare IPv6 address": (["--listen", "::1:80"], "ADDRESS:PORT"),
    "argument": (["team"], "unexpected extra argument"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options(words: list[str], message: str) -> None:
    answer = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert answer.exit_code == 2
    assert message in answer.output


def test_without_a_cluster_it_reports_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    missing = str(tmp_path_factory.mktemp("none") / "config")
    answer = CliRunner().invoke(app, ["--kubeconfig", missing])
    assert answer.exit_code == 1
