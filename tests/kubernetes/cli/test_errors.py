"""Every mistake that a person can make with a cluster, and what is said about it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import Api, ControlPlane, Options, cluster
from tests.kubernetes.command_line import CommandLine, Operator, document, written


@pytest.fixture
def minicluster(api: Api, namespace: str) -> CommandLine:
    return CommandLine(api.access.kubeconfig, namespace, api.access.context or "")


@pytest.fixture
def kubeconfig(api: Api, tmp_path: Path) -> dict[str, Any]:
    found = yaml.safe_load(api.access.kubeconfig.read_text())
    assert isinstance(found, dict)
    return found


def saved(folder: Path, content: object) -> Path:
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


CONFIGURATIONS = [
    pytest.param(
        None, "", r"there is no kubeconfig \S+; set KUBECONFIG, or give --kubeconfig FILE", id="none"
    ),
    pytest.param("words", "", r"\S+ is not a usable kubeconfig: .+", id="something-else"),
    pytest.param({"contexts": []}, "", r"\S+ is not a usable kubeconfig: .+", id="empty"),
]


@pytest.mark.parametrize(("content", "context", "message"), CONFIGURATIONS)
def test_a_kubeconfig_that_is_none(tmp_path: Path, content: object, context: str, message: str) -> None:
    path = tmp_path / "absent" if content is None else saved(tmp_path, content)
    done = CommandLine(path, context=context)("list")
    assert done.returncode == 1
    assert re.fullmatch(f"minicluster: no way to a Kubernetes cluster: {message}\n", done.stderr), done.stderr


def test_a_context_that_is_none(kubeconfig: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path, kubeconfig)
    done = CommandLine(path, context="nope")("list")
    known = ", ".join(each["name"] for each in kubeconfig["contexts"])
    assert (done.returncode, done.stderr) == (
        1,
        f"minicluster: no way to a Kubernetes cluster: there is no context nope in {path}; it has {known}\n",
    )


def test_a_server_that_does_not_answer(kubeconfig: dict[str, Any], tmp_path: Path) -> None:
    for each in kubeconfig["clusters"]:
        each["cluster"]["server"] = "https://127.0.0.1:1"
    done = CommandLine(saved(tmp_path, kubeconfig))("list")
    assert done.returncode == 1
    assert done.stderr.startswith("minicluster: no answer from https://127.0.0.1:1: Cannot connect to host")


def test_credentials_that_are_not_accepted(kubeconfig: dict[str, Any], tmp_path: Path) -> None:
    for each in kubeconfig["users"]:
        each["user"] = {"token": "expired"}
    done = CommandLine(saved(tmp_path, kubeconfig))("list")
    assert (done.returncode, done.stderr) == (
        1,
        (
            "minicluster: the API server does not accept your credentials (Unauthorized): log in again,"
            " or choose another --context\n"
        ),
    )


@pytest.fixture(scope="module")
def bare_plane(programs: None) -> Iterator[ControlPlane]:
    """A cluster on which nobody has installed anything."""
    with cluster(Options()) as plane:
        yield plane


@pytest.mark.parametrize("command", ["list", "status mc", "down mc", "scale mc 2", "logs mc"])
def test_a_cluster_without_the_crd(bare_plane: ControlPlane, command: str) -> None:
    done = CommandLine(bare_plane.kubeconfig)(*command.split())
    assert (done.returncode, done.stderr) == (
        1,
        (
            "minicluster: MiniClusters are not known to this cluster: install the CRD:"
            " minicluster crd | kubectl apply --server-side -f -\n"
        ),
    )


def test_up_on_a_cluster_without_the_crd(bare_plane: ControlPlane, tmp_path: Path) -> None:
    done = CommandLine(bare_plane.kubeconfig)("up", written(tmp_path, document()))
    assert "install the CRD: minicluster crd | kubectl apply --server-side -f -" in done.stderr


DENIED = [
    pytest.param("list", "list", "miniclusters", id="list"),
    pytest.param("status mc", "get", "miniclusters", id="status"),
    pytest.param("scale mc 2", "get", "miniclusters", id="scale"),
    pytest.param("up FILE", "patch", "miniclusters", id="up"),
    pytest.param("validate FILE", "patch", "miniclusters", id="validate"),
    pytest.param("down mc", "get", "miniclusters", id="down"),
]


@pytest.mark.parametrize(("command", "verb", "resource"), DENIED)
def test_a_user_without_rights(
    plane: ControlPlane, namespace: str, tmp_path: Path, command: str, verb: str, resource: str
) -> None:
    """The server's own words, and which right is missing."""
    path = str(written(tmp_path, document()))
    jane = CommandLine(plane.user("jane").kubeconfig, namespace)
    done = jane(*command.replace("FILE", path).split())
    assert done.returncode == 1
    assert f'User "jane" cannot {verb} resource "{resource}"' in done.stderr
    assert done.stderr.endswith(
        f"Needed is the verb {verb} on {resource}: ask whoever administers the cluster"
        f" for the role edit in namespace {namespace}\n"
    )


@pytest.mark.parametrize("command", ["status mc", "down mc", "scale mc 2", "logs mc"])
def test_a_name_that_is_none(minicluster: CommandLine, namespace: str, command: str) -> None:
    done = minicluster(*command.split())
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"minicluster: cluster mc: there is none in namespace {namespace};"
            f" `minicluster list --on kubernetes -n {namespace}` shows the ones that are\n"
        ),
    )


@pytest.mark.parametrize("command", ["list", "status mc", "up FILE"])
def test_a_namespace_that_is_none(minicluster: CommandLine, tmp_path: Path, command: str) -> None:
    path = str(written(tmp_path, document()))
    there = CommandLine(minicluster.kubeconfig, "nowhere-at-all", minicluster.context)
    done = there(*command.replace("FILE", path).split())
    assert (done.returncode, done.stderr) == (
        1,
        (
            "minicluster: namespace nowhere-at-all: there is none in this cluster;"
            " kubectl create namespace nowhere-at-all makes it\n"
        ),
    )


@pytest.mark.parametrize(("name", "namespace"), [("../pods", "default"), ("mc", "a/b"), ("MC", "default")])
def test_a_name_that_cannot_be_one(minicluster: CommandLine, name: str, namespace: str) -> None:
    done = CommandLine(minicluster.kubeconfig, namespace, minicluster.context)("status", name)
    assert done.returncode == 2
    assert "cannot be the name of a" in done.stderr


def test_a_document_that_is_not_valid(minicluster: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, document(size="two"))
    done = minicluster("up", path)
    assert done.returncode == 1
    assert re.search(rf"^minicluster: {path}:\d+: spec.size: .*two", done.stderr, re.MULTILINE), done.stderr


def test_a_size_beyond_the_maximum(minicluster: CommandLine, api: Api, namespace: str) -> None:
    Operator(api, namespace).make()
    done = minicluster("scale", "mc", 9)
    assert (done.returncode, done.stderr) == (
        1,
        "minicluster: cluster mc: cannot have 9 brokers: size must not be greater than maxSize (4)\n",
    )


def test_a_size_on_the_command_line_beyond_the_maximum(minicluster: CommandLine, tmp_path: Path) -> None:
    done = minicluster("up", written(tmp_path, document()), "--size", 9)
    assert (done.returncode, done.stderr) == (
        2,
        (
            "minicluster: --size 9: MiniCluster mc does not allow it: size must not be greater than maxSize:"
            " found 9, maxSize is 4\n"
        ),
    )


def test_what_only_the_server_refuses_has_its_line(
    minicluster: CommandLine, api: Api, namespace: str, tmp_path: Path
) -> None:
    path = written(tmp_path, document(tasks=3))
    minicluster("up", path, "--no-wait")
    Operator(api, namespace).report_status("Running", "Running", "CommandRunning", "it runs", maximumSize=4)
    changed = written(tmp_path, document(tasks=5))
    done = minicluster("up", changed)
    assert done.returncode == 1
    number = changed.read_text()[: changed.read_text().index("tasks")].count("\n") + 1
    assert done.stderr.startswith(
        f"minicluster: {changed}:{number}: spec.tasks: spec.tasks cannot change once brokers were made"
    )


def test_after_a_refusal_nothing_more_is_applied(
    minicluster: CommandLine, api: Api, namespace: str, tmp_path: Path
) -> None:
    """All that is refused is said at once."""
    operator = Operator(api, namespace)
    operator.make("one", suspend=True)
    operator.make("three", suspend=True)
    found = [document(name, suspend=False) for name in ("one", "two", "three")]
    done = minicluster("up", written(tmp_path, *found), "--no-wait")
    assert (done.returncode, done.stderr.count("spec.suspend: is true in the cluster")) == (1, 2)
    assert not operator.exists("two")


def test_an_admission_policy_is_quoted(
    minicluster: CommandLine, api: Api, namespace: str, tmp_path: Path
) -> None:
    """A refusal that is about no field: a quota on MiniClusters, for example."""
    quota = {"hard": {"count/miniclusters.flux-framework.org": "0"}}
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    api.create(path, {"metadata": {"name": "none"}, "spec": quota})
    done = minicluster("up", written(tmp_path, document()), "--no-wait")
    assert done.returncode == 1
    assert "MiniCluster mc: the API server refused it: " in done.stderr
    assert "quota" in done.stderr


WRONG = [
    pytest.param(("up", "FILE", "--engine", "embedded"), "--engine", "--on local", id="engine"),
    pytest.param(("up", "FILE", "--restore", "x"), "--restore", "--on local", id="restore"),
]


@pytest.mark.parametrize(("words", "option", "needed"), WRONG)
def test_an_option_for_this_machine(
    minicluster: CommandLine, tmp_path: Path, words: tuple[str, ...], option: str, needed: str
) -> None:
    path = str(written(tmp_path, document()))
    done = minicluster(*(word.replace("FILE", path) for word in words))
    assert done.returncode == 2
    assert f"Invalid value for {option}: has a meaning only with {needed}" in " ".join(
        done.stderr.replace("│", "").split()
    )


def test_two_namespaces(minicluster: CommandLine, namespace: str, tmp_path: Path) -> None:
    there = document()
    there["metadata"]["namespace"] = "elsewhere"
    path = written(tmp_path, there)
    done = minicluster("up", path)
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: {path}:5: metadata.namespace: is elsewhere, but --namespace is {namespace}\n",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", "three"), "has no MiniCluster three; it has one, two"),
        (("--size", "3"), "has several MiniClusters (one, two); add --name"),
    ],
    ids=["name", "size"],
)
def test_which_of_several(
    minicluster: CommandLine, tmp_path: Path, options: tuple[str, str], message: str
) -> None:
    done = minicluster("up", written(tmp_path, document("one"), document("two")), *options)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
