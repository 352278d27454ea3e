"""The command line: what it offers, and what documents it finds wrong."""

from __future__ import annotations

import base64
import binascii
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import jsonschema
import pytest
import yaml

from minicluster.cli import commands
from tests import forked

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMANDS = sorted(each.name for each in entry_points(group="minicluster.commands"))


def _call(*arguments: str | Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command. That each starts in an interpreter of its own is tried below."""
    environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    return forked.completed(list(map(str, arguments)), environment, given)


def test_every_command_is_listed() -> None:
    shown = _call("--help")
    assert shown.returncode == 0
    for name in COMMANDS:
        assert f" {name} " in shown.stdout


def test_every_command_of_ours_is_in_the_order_of_the_help() -> None:
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]
    assert sorted(commands.ORDER) == sorted(project["entry-points"][commands.GROUP])


def test_commands_of_plug_ins_come_after_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("zoo", *sorted(commands.ORDER), "acme")
    found = [EntryPoint(name, "nowhere:app", commands.GROUP) for name in names]
    monkeypatch.setattr(commands, "entry_points", lambda group: found)
    assert commands.CommandGroup().list_commands(None) == [*commands.ORDER, "acme", "zoo"]


def _imported_by(statement: str) -> set[str]:
    """Return the names of the modules that a statement adds to a fresh interpreter's."""
    program = f"""\
import sys
before = set(sys.modules)
try:
    {statement}
finally:
    print(*set(sys.modules) - before, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_help_imports_only_the_command_line() -> None:
    """It comes quickly because what commands work with is imported by the one that runs."""
    imported = _imported_by("from minicluster.cli.main import run; run()")
    assert "minicluster.cli.commands" in imported
    rooms = {name.split(".")[1] for name in imported if name.startswith("minicluster.")}
    assert rooms == {"cli"}
    heavy = {
        "pydantic",
        "jinja2",
        "yaml",
        "pluggy",
        "zmq",
        "asyncio",
        "sqlite3",
        "broker_config",
        "queue_policies",
    }
    assert imported & heavy == set()


def test_importing_the_package_imports_nothing_else() -> None:
    assert _imported_by("import minicluster") == {"minicluster"}


def test_an_unknown_command_ends_with_2() -> None:
    done = _call("dance")
    assert done.returncode == 2
    assert "dance" in done.stderr


# Without arguments `serve` serves: see tests/restful/cli.
@pytest.mark.parametrize("command", sorted({*commands.ORDER} - {"serve"}))
def test_a_command_without_arguments_has_no_traceback(command: str, tmp_path: Path) -> None:
    """It does what it can, or its message names what is missing."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "MINICLUSTER_"))}
    done = subprocess.run(
        [sys.executable, "-m", "minicluster.cli", command],
        env={**kept, "HOME": str(tmp_path), "MINICLUSTER_RUNTIME_DIR": str(tmp_path / "m")},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=False,
    )
    assert ("Traceback" in done.stderr, done.returncode in {0, 1, 2}) == (False, True), done.stderr
    assert done.stdout + done.stderr


def test_a_cluster_that_is_to_end_is_named() -> None:
    done = _call("down")
    assert (done.returncode, "Missing argument 'NAME'" in done.stderr) == (2, True), done.stderr


def test_the_version() -> None:
    assert _call("--version").stdout.startswith("minicluster 0.")


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/minicluster.yaml")), ids=lambda path: path.parent.name
)
def test_an_example_is_valid(path: Path) -> None:
    done = _call("validate", path)
    assert (done.returncode, done.stdout.startswith(f"{path}: valid (")) == (0, True), done.stdout


SEEDED = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: two
  taks: 4
  containers:
    - image: x
      launcher: true
      batch: true
"""


def test_validate_names_each_mistake_with_path_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(SEEDED)
    done = _call("validate", path)
    assert done.returncode == 1
    for line, field_path, words in ((5, "spec.size", "two"), (6, "spec.taks", "tasks")):
        found = [each for each in done.stdout.splitlines() if each.startswith(f"{path}:{line}: {field_path}")]
        assert len(found) == 1, done.stdout
        assert words in found[0]


def test_validate_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(SEEDED)
    problems = json.loads(_call("validate", path, "--output", "json").stdout)
    assert {(each["line"], each["path"]) for each in problems} >= {(5, "spec.size"), (6, "spec.taks")}


def test_validate_reads_standard_input() -> None:
    done = _call("validate", "-", given=(EXAMPLES / "hello-world" / "minicluster.yaml").read_text())
    assert (done.returncode, done.stdout) == (0, "standard input: valid (hello-world)\n")


def test_render_prints_the_objects_without_secrets() -> None:
    done = _call("render", EXAMPLES / "hello-world" / "minicluster.yaml")
    objects = list(yaml.safe_load_all(done.stdout))
    assert {"ConfigMap", "Secret", "Service", "Job"} <= {each["kind"] for each in objects}
    assert "secret-key" not in done.stdout


def test_what_render_redacts_is_marked_and_cannot_be_applied() -> None:
    """An API server takes only base64 for `data`: the words in its place are none."""
    done = _call("render", EXAMPLES / "hello-world" / "minicluster.yaml")
    assert done.stdout.startswith("# For reading only: the Secret is redacted, and Kubernetes refuses it.")
    (secret,) = [each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "Secret"]
    assert "stringData" not in secret
    with pytest.raises(binascii.Error):
        base64.b64decode(secret["data"]["curve.cert"], validate=True)


def test_renders_help_applies_only_with_secrets() -> None:
    (line,) = [line for line in _call("render", "--help").stdout.splitlines() if "kubectl" in line]
    assert "--with-secrets" in line


def test_render_shows_secrets_where_they_are_asked_for() -> None:
    done = _call(
        "render", EXAMPLES / "hello-world" / "minicluster.yaml", "--with-secrets", "--output", "json"
    )
    (secret,) = [each for each in json.loads(done.stdout)["items"] if each["kind"] == "Secret"]
    assert secret.get("data") or "secret-key" in json.dumps(secret)


def test_crd_prints_the_definition() -> None:
    definition = yaml.safe_load(_call("crd").stdout)
    assert definition["metadata"]["name"] == "miniclusters.flux-framework.org"


def test_crd_prints_a_json_schema_for_editors() -> None:
    """Each example is valid by it; an unknown field is not."""
    validator = jsonschema.Draft202012Validator(json.loads(_call("crd", "--output", "json-schema").stdout))
    documents = [
        document
        for path in sorted(EXAMPLES.glob("*/minicluster.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document["kind"] == "MiniCluster"
    ]
    assert [list(validator.iter_errors(document)) for document in documents] == [[]] * len(documents)
    documents[0]["spec"]["sise"] = 2
    (error,) = validator.iter_errors(documents[0])
    assert "'sise' was unexpected" in error.message


def test_an_error_of_ours_has_no_traceback(tmp_path: Path) -> None:
    done = _call("render", tmp_path / "absent.yaml")
    assert (done.returncode, done.stderr) == (
        2,
        f"minicluster: {tmp_path}/absent.yaml: cannot be read: No such file or directory\n",
    )


def test_a_listing_of_nothing_reports_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minicluster.cli", "list"],
        env={**os.environ, "MINICLUSTER_RUNTIME_DIR": str(tmp_path / "m")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "no cluster is up\n")
