"""`kubectl minicluster`, called by the real kubectl."""

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from minicluster.cli.plugin import LOCAL, ordered
from tests.devcluster import Api
from tests.devcluster.lookup import kubernetes, locate
from tests.kubernetes.command_line import Operator

SCRIPTS = sysconfig.get_path("scripts")


@pytest.fixture(scope="session")
def kubectl(programs: None) -> Path:
    found = locate(kubernetes()).get("kubectl")
    if found is None:
        pytest.skip("no kubectl beside the other programs of Kubernetes")
    return found


def call(kubectl: Path, api: Api, *words: str) -> "subprocess.CompletedProcess[str]":
    search = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search, "KUBECONFIG": str(api.access.kubeconfig), "COLUMNS": "200"}
    return subprocess.run(
        [kubectl, "minicluster", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("before", [True, False], ids=["before-the-command", "after-it"])
def test_kubectl_finds_the_plug_in_and_its_options_count(
    kubectl: Path, api: Api, namespace: str, before: bool
) -> None:
    Operator(api, namespace).make()
    options = (
        "-n",
        namespace,
        "--context",
        api.access.context or "",
        "--kubeconfig",
        str(api.access.kubeconfig),
    )
    done = call(kubectl, api, *(options if before else ()), "list", *(() if before else options))
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["NAME", "mc"]


def test_help_names_it_as_it_is_called_and_only_what_has_a_meaning_there(kubectl: Path, api: Api) -> None:
    shown = call(kubectl, api, "--help").stdout
    assert "Usage: kubectl minicluster" in shown
    commands = {line.split()[1] for line in shown.splitlines() if line.startswith("│ ") and line[2].isalpha()}
    assert {"up", "status", "operator", "crd"} <= commands
    assert not commands & LOCAL


def test_a_command_for_this_machine_reports_where_it_is(kubectl: Path, api: Api) -> None:
    done = call(kubectl, api, "run", "file.yaml")
    assert (done.returncode, "minicluster run" in done.stderr) == (2, True), done.stderr


def test_exit_codes_come_through(kubectl: Path, api: Api, namespace: str) -> None:
    done = call(kubectl, api, "status", "nope", "-n", namespace)
    assert (done.returncode, "there is none in namespace" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["-n", "x", "submit", "mc", "-n", "4"], ["submit", "--namespace", "x", "mc", "-n", "4"]),
        (["--namespace=x", "--context", "c", "up", "f"], ["up", "--namespace=x", "--context", "c", "f"]),
        (["-nx", "list", "-A"], ["list", "--namespace=x", "-A"]),
        (["-n=x", "list"], ["list", "--namespace=x"]),
        (["list", "-n", "x"], ["list", "-n", "x"]),
        (["-n", "x", "crd"], ["crd"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
    ids=["-n", "long", "joined", "joined-by-=", "after", "asks-no-cluster", "help", "nothing"],
)
def test_options_before_the_command(given: list[str], wanted: list[str]) -> None:
    assert ordered(given) == wanted
