"""Plug-ins that were written against 0.1.0, installed beside today's packages: they run unchanged."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.release_0_1_0 import site
from tests.release_0_1_0.adapters import DATA
from tests.release_0_1_0.commands import Commands
from tests.release_0_1_0.pods import Pods, new_files, until
from tests.release_0_1_0.surface import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIGURES: dict[str, Any] = json.loads((DATA / "simulations.json").read_text())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this project and the plug-ins, but the onlooker."""
    return site.with_plugins(tmp_path_factory.mktemp("site"), "acme")


@pytest.fixture(scope="module")
def commands(installed: Path) -> Iterator[Commands]:
    with tempfile.TemporaryDirectory(prefix="mct-", dir="/tmp") as root:
        made = Commands(Path(root) / "m", installed)
        yield made
        for row in made.rows("list"):
            made.good("down", row["name"])


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: an import for annotations alone finds a module, or does not."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run(node)


def test_they_import_what_is_promised_only() -> None:
    """Else a module may move under them: see README.md."""
    imported = set()
    for file in site.PLUGINS.rglob("*.py"):
        for node in _run(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{each.name}" for each in node.names}
                imported |= (names & set(MODULES)) or {node.module}
            elif isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
    ours = {each for each in imported if each.startswith(("minicluster", "queue_policies", "metrics_api"))}
    assert ours <= set(MODULES)
    assert len(ours) >= 20


def test_policies_are_listed_with_their_settings(commands: Commands) -> None:
    listed = {row["name"]: row for row in commands.rows("policies")}
    assert {"acme-share", "acme-promise", "acme-order", "easy"} <= listed.keys()
    assert "donors" in str(listed["acme-share"])


@pytest.mark.parametrize("workload", FIGURES)
def test_simulations_have_the_same_outcomes(workload: str, commands: Commands) -> None:
    """To the byte: those of the plug-in's policies, and of all of ours."""
    words = [f"--policy={each}" for each in FIGURES[workload]["policies"]]
    text = commands.good("simulate", "--workload", workload, *words, "--seeds", 1, "--output", "json")
    assert json.loads(text) == FIGURES[workload]["rows"]


def test_a_command_is_listed_and_runs(commands: Commands) -> None:
    assert " acme " in commands.good("--help")
    assert commands.good("acme", "--gap", 0) == (DATA / "acme.txt").read_text()
    refused = commands.call("acme", "--policy", "acme-shar")
    assert refused.returncode == 2
    message = "no policy: unknown queue policy 'acme-shar'; did you mean 'acme-share'?"
    assert refused.stderr.startswith(message)


@pytest.fixture(scope="module")
def cluster(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster of this machine, `mc`, of two nodes, under the plug-in's policy; its program's folder."""
    folder = tmp_path_factory.mktemp("program")
    document = folder / "mc.yaml"
    container = {"image": "none", "resources": {"limits": {"cpu": "2"}}}
    spec = {"size": 2, "interactive": True, "drainTimeoutSeconds": 1, "containers": [container]}
    about = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "mc"}}
    document.write_text(json.dumps({**about, "spec": spec}))
    commands.good("up", document, "--engine", "embedded", "--policy", "acme-share:gap=0")
    return folder


def test_a_program_grows_and_shrinks_as_the_policy_decides(commands: Commands, cluster: Path) -> None:
    """In a real instance: it has all cores, gives some to another job, and has them again."""
    elastic = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]
    program = [sys.executable, "-m", "acme.program", cluster]
    job = commands.inside("submit", "-n1", *elastic, *program)
    assert commands.rows("status", "mc")[0]["queue_policy"] == "minicluster/acme-share"

    def diary() -> list[str]:
        file = cluster / "diary"
        return file.read_text().splitlines() if file.exists() else []

    until(lambda: "malleable True at 4" in diary(), f"four workers, diary {diary()}")
    assert diary()[:3] == ["inside True", "refused 0: 2", "refused 99: 2"]
    gate = cluster / "go"
    other = commands.flux("submit", "-n2", "sh", "-c", f"until [ -e {gate} ]; do sleep .02; done")
    until(lambda: "shrunk by 2" in diary(), f"two workers fewer, diary {diary()}")
    gate.touch()
    commands.flux("job", "wait-event", "-t", "30s", other, "clean")
    until(lambda: "grown by 2" in diary(), f"two workers more, diary {diary()}")
    until(lambda: diary().count("worker got work share True") == 2, f"their shares, diary {diary()}")
    (cluster / "end").touch()
    commands.flux("job", "wait-event", "-t", "30s", job, "clean")
    assert commands.flux("jobs", "-no", "{status}", job) == "COMPLETED"
    assert not [line for line in diary() if line.startswith(("defect", "failed", "expired"))]


def test_a_queue_client_supplies_what_is_shown(
    commands: Commands, cluster: Path, installed: Path, tmp_path: Path
) -> None:
    """In place of ours: 0.1.0 wants one."""
    other = site.without_queue_client(installed, tmp_path / "other")
    site.install(site.PLUGINS / "acme-onlooker", other)
    shown = Commands(commands.root, other, installed)
    pending = commands.flux("submit", "--urgency=0", "true")
    (row,) = shown.rows("status", "mc")
    assert (row["nodes_demanded"], row["jobs_pending"]) == (40, 1)
    commands.flux("cancel", pending)
    assert commands.rows("status", "mc")[0]["nodes_demanded"] < 40, "ours tells what is demanded"


def test_a_route_is_served_by_the_lead(
    pods: Callable[..., Pods], installed: Path, commands: Commands
) -> None:
    """Of a pod of 0.1.0, with an engine that has the plug-in installed."""
    engine = installed / "bin"
    site.run(installed, "adapters.flux_program(pathlib.Path(sys.argv[1]))", engine)
    assert str(installed) in (engine / "flux").read_text()
    here = pods(new_files("interactive"), engine).start(0)
    here.status(running=True)
    ask = here.lead.ask
    assert ask("GET", "/v1/acme/attribute?name=rank") == (200, {"value": "0", "engine": "embedded"})
    code_, refusal = ask("GET", "/v1/acme/attribute?name=nothing")
    assert (code_, "nothing: " in str(refusal)) == (404, True)
    assert ask("POST", "/v1/acme/attribute", {"a": 1}) == (200, {"body": {"a": 1}, "minimum": 1})
    assert ask("GET", "/v1/acme/attribute", headers={})[0] == 401
    with closing(here.lead.keep()) as anybody:
        anybody.request("GET", "/v1/acme/hello")
        assert anybody.getresponse().read() == b"hello, True\n"
        anybody.request("GET", "/v1/acme/jobs", headers=here.lead.bearer)
        assert anybody.getresponse().read() == b"events 0\n"


def test_a_route_goes_into_the_zip(installed: Path, tmp_path: Path) -> None:
    """Where real Flux's lead finds it: `PACKED` names the files, a list in the zip the function."""
    file = tmp_path / "flux_modules.zip"
    code = "pathlib.Path(sys.argv[1]).write_bytes(pods.new_files('interactive')['flux_modules.zip'])"
    site.run(installed, code, file)
    with zipfile.ZipFile(file) as archive:
        assert {"acme/__init__.py", "acme/routes.py"} <= set(archive.namelist())
        assert "acme/policies.py" not in archive.namelist()
        (listed,) = (each for each in archive.namelist() if each.endswith("extensions.txt"))
        assert "acme.routes:extension" in archive.read(listed).decode().split()
    plain = [sys.executable, "-I", "-S", "-c"]
    code = "import sys; sys.path.insert(0, sys.argv[1]); import acme.routes; print(acme.routes.HELLO)"
    assert subprocess.check_output([*plain, code, str(file)], text=True) == "/v1/acme/hello\n"
