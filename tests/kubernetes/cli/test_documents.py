"""validate and render with what a real API server says; the documents alone are proven in tests/cli."""

import json
from pathlib import Path

import pytest
import yaml

from tests.devcluster import Api, ControlPlane
from tests.kubernetes.command_line import CommandLine, Operator, document, written


@pytest.fixture
def minicluster(api: Api, namespace: str) -> CommandLine:
    return CommandLine(api.access.kubeconfig, namespace, api.access.context or "")


@pytest.fixture
def operator(api: Api, namespace: str) -> Operator:
    return Operator(api, namespace)


def line(path: Path, word: str) -> int:
    return next(number for number, text in enumerate(path.read_text().splitlines(), 1) if word in text)


def test_what_the_server_accepts_is_valid_and_nothing_is_kept(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    path = written(tmp_path, document("one"), document("two"))
    done = minicluster("validate", path)
    assert (done.returncode, done.stdout) == (0, f"{path}: valid (one, two)\n"), done.stderr
    assert not operator.exists("one")


def test_a_field_that_cannot_change_is_reported_with_its_line(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    operator.make()
    operator.report_status("Running", "Running", "CommandRunning", "the main command runs", maximumSize=4)
    path = written(tmp_path, document(tasks=7))
    done = minicluster("validate", path)
    assert (done.returncode, done.stdout) == (
        1,
        (
            f"{path}:{line(path, 'tasks')}: spec.tasks: spec.tasks cannot change once brokers were made"
            " (the main command is submitted once); make a new MiniCluster\n"
        ),
    )


BAD = [
    pytest.param(document(size=9), "spec.size", id="a-rule-that-both-have"),
    pytest.param(document(size="two"), "spec.size", id="a-type"),
    pytest.param(document(taks=2), "spec.taks", id="an-unknown-field"),
    pytest.param(
        document(containers=[{"image": "x", "launcher": True, "batch": True}]),
        "spec.containers[0]",
        id="a-rule-of-a-container",
    ),
]


@pytest.mark.parametrize(("bad", "field_path"), BAD)
def test_what_both_find_is_reported_once(
    minicluster: CommandLine, tmp_path: Path, bad: dict[str, object], field_path: str
) -> None:
    path = written(tmp_path, bad)
    done = minicluster("validate", path, "--output", "json")
    (problem,) = json.loads(done.stdout)
    assert (done.returncode, problem["path"].startswith(field_path)) == (1, True), problem


def test_the_server_is_asked_in_the_documents_own_namespace(
    minicluster: CommandLine, operator: Operator, tmp_path: Path
) -> None:
    there = document()
    there["metadata"]["namespace"] = "nowhere-at-all"
    done = CommandLine(minicluster.kubeconfig, context=minicluster.context)(
        "validate", written(tmp_path, there)
    )
    assert (done.returncode, done.stderr) == (
        1,
        (
            "minicluster: namespace nowhere-at-all: there is none in this cluster;"
            " kubectl create namespace nowhere-at-all makes it\n"
        ),
    )


def objects(text: str) -> dict[str, dict[str, object]]:
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def test_render_is_for_the_clusters_version_and_namespace(
    minicluster: CommandLine, api: Api, namespace: str, tmp_path: Path
) -> None:
    """From Kubernetes 1.35 on images are mounted, not copied."""
    rendered = yaml.safe_dump(objects(minicluster("render", written(tmp_path, document())).stdout))
    minor = int(api.get("/version")["minor"])
    assert ("initContainers" in rendered) == (minor < 35)
    assert f"namespace: {namespace}" in rendered


def test_render_copies_flux_where_images_cannot_be_mounted(
    oldest_plane: ControlPlane, tmp_path: Path
) -> None:
    minicluster = CommandLine(oldest_plane.kubeconfig)
    job = objects(minicluster("render", written(tmp_path, document())).stdout)["Job"]
    assert "initContainers" in yaml.safe_dump(job)
