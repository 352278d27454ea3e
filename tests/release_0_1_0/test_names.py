"""Names by which running pods of 0.1.0, their objects and users find what is ours: all still resolve."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.plan.constants import TOKENS_DIR
from minicluster.plan.objects.names import FLUX_FILES
from tests.release_0_1_0 import adapters, stored
from tests.release_0_1_0.adapters import DATA
from tests.release_0_1_0.pods import new_files, old_files

if TYPE_CHECKING:
    from collections.abc import Iterator

README = (Path(__file__).parent / "README.md").read_text()
MODES = ("interactive", "command")
IMPORT = re.compile(r"^\s*from (\S+) import (\S+)", re.MULTILINE)
PLAIN = (sys.executable, "-I", "-S", "-c")
# What 0.1.0's processes import: from which zip, module, name; whether it needs Flux's Python.
FROM_ZIPS = (
    ("flux_modules.zip", "minicluster.flux_modules.saving.flux_command", "main", False),
    ("flux_modules.zip", "minicluster.instance.flux_helper", "main", True),
    ("flux_modules.zip", "minicluster.flux_modules.door.flux_module", "main", True),
    ("flux_modules.zip", "minicluster", "scale", False),
    ("flux_modules.zip", "minicluster.within", "scale", False),
    ("flux_scheduler.zip", "minicluster.flux_modules.scheduler.flux_module", "mod_main", True),
    ("flux_scheduler.zip", "queue_policies.plugins", "load", False),
)
HIDDEN = ("minicluster-relay", "minicluster-saving")
"""Commands of the embedded `flux` that a start script calls."""


def _texts() -> dict[str, str]:
    """Return 0.1.0's scripts, and the programs in them, by their names."""
    return {
        f"{mode}/{name}": data.decode()
        for mode in MODES
        for name, data in old_files(mode).items()
        if not name.endswith(".zip")
    }


def _imported() -> set[tuple[str, str]]:
    """Return what 0.1.0's texts import of ours."""
    ours = ("minicluster", "broker_config", "queue_policies", "metrics_api")
    found = {pair for text in _texts().values() for pair in IMPORT.findall(text)}
    return {(module, name) for module, name in found if module.startswith(ours)}


def test_the_list_is_whole() -> None:
    """What start script and stubs import is what is listed here, programs' own imports apart."""
    listed = {(module, name) for _, module, name, _ in FROM_ZIPS}
    stub = {(module.rpartition(".")[0], module.rpartition(".")[2]) for module, _ in listed}
    assert _imported() <= listed | stub
    assert {each[0] for each in _imported()} >= {"minicluster.flux_modules.saving.flux_command"}


@pytest.mark.parametrize("name", [*HIDDEN, *(module for _, module, _, _ in FROM_ZIPS)])
def test_readme_lists_it(name: str) -> None:
    assert f"`{name}" in README


@pytest.mark.parametrize(("zipped", "module", "name", "needs_flux"), FROM_ZIPS)
def test_a_name_resolves_from_todays_zip(
    zipped: str, module: str, name: str, needs_flux: bool, tmp_path: Path
) -> None:
    """Under a Python with nothing but its library, the zip, and where needed something called flux."""
    file = tmp_path / zipped
    file.write_bytes(new_files("interactive")[zipped])
    if needs_flux:
        for each in ("flux", "_flux"):
            (tmp_path / each).mkdir()
            (tmp_path / each / "__init__.py").write_text(ANYTHING)
    found = f"from {module} import {name} as found; print(callable(found))"
    code = f"import sys; sys.path[:0] = sys.argv[1:]; {found}"
    shown = subprocess.check_output([*PLAIN, code, str(file), str(tmp_path)], text=True)
    assert shown == "True\n"


ANYTHING = """\
import sys, types
from importlib.machinery import ModuleSpec

__path__ = []


def thing(name):  # a class, an error, or what makes a decorator
    return type(name, (Exception,), {"__call__": lambda self, *given: given[0] if given else None})


class Anything(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return thing(name)


class Finder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.startswith((__name__ + ".",)) else None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return thing(name)
"""


@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_command_is_one_of_the_engine(name: str, flux: Path) -> None:
    """It fails for want of a broker or of arguments, not as one that is unknown."""
    done = subprocess.run([flux / "flux", name], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is not a flux command" not in done.stderr
    assert any(name in text for text in _texts().values())


def test_the_engine_is_known_by_its_marker(flux: Path) -> None:
    """The start script looks for it in the text of `flux`."""
    assert all(
        re.search(r"grep -q (-e FLUX_EXEC_PATH -e )?minicluster\.embedded", text)
        for name, text in _texts().items()
        if name.endswith("start.sh")
    )
    assert "minicluster.embedded" in (flux / "flux").read_text()


@pytest.mark.parametrize("module", ["minicluster.embedded.main", "minicluster.flux_modules.door.process"])
def test_what_a_broker_starts_by_name_is_there(module: str) -> None:
    """The program of `flux`; the process of the table `[minicluster.modules.door]`."""
    assert callable(import_module(module).main)


def _stub(files: dict[str, bytes], name: str) -> Iterator[str]:
    for node in ast.parse(files[name]).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize("name", ["minicluster-door.py", "minicluster-sched.py"])
def test_flux_finds_a_modules_entry(name: str) -> None:
    assert "mod_main" in set(_stub(old_files("interactive"), name)) & set(
        _stub(new_files("interactive"), name)
    )


@pytest.mark.parametrize("name", adapters.ZIPS)
def test_a_zip_of_before_still_runs_by_itself(name: str, tmp_path: Path) -> None:
    """Pods that no operator touches keep it."""
    with zipfile.ZipFile(DATA / name) as archive:
        assert archive.testzip() is None
    module = next(module for zipped, module, _, needs_flux in FROM_ZIPS if zipped == name and not needs_flux)
    code = f"import sys; sys.path.insert(0, sys.argv[1]); import {module} as found; print(found.__file__)"
    shown = subprocess.check_output([*PLAIN, code, str(DATA / name)], text=True)
    assert shown.startswith(str(DATA / name))


DOCUMENTS = sorted(each.stem for each in (DATA / "objects").glob("*.yaml") if "." not in each.stem)
IMMUTABLE = {
    "Job": ("completionMode", "podFailurePolicy", "selector", "successPolicy"),
    "Service": ("clusterIP", "selector", "ports"),
    "HorizontalPodAutoscaler": ("scaleTargetRef",),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_objects_keep_their_names(name: str) -> None:
    """Kinds, names, labels, selectors, keys of Secrets and ConfigMaps, volumes, mounts, containers.

    The zips of a new MiniCluster are in the ConfigMap of its namespace; its pods mount tokens as well.
    """
    text = (DATA / "documents" / f"{name}.yaml").read_text()
    old, new = (
        {(each["kind"], each["metadata"]["name"]): each for each in found}
        for found in (stored.objects(name), adapters.planned(text))
    )
    assert new.keys() >= old.keys()
    zips = new["ConfigMap", FLUX_FILES]["binaryData"].keys()
    for key, before in old.items():
        assert _names(new[key]) == _names(before), key
        assert new[key].get("data", {}).keys() >= before.get("data", {}).keys(), key
        assert zips >= before.get("binaryData", {}).keys(), key


def _names(item: dict[str, Any]) -> dict[str, Any]:
    spec = item.get("spec", {})
    pod = spec.get("template", {}).get("spec") or (spec if item["kind"] == "Pod" else {})
    return {
        "version": item["apiVersion"],
        "labels": item["metadata"]["labels"],
        "owners": item["metadata"].get("ownerReferences"),
        "fixed": {part: spec.get(part) for part in IMMUTABLE.get(item["kind"], ())},
        "pod labels": spec.get("template", {}).get("metadata"),
        "volumes": sorted({each["name"] for each in pod.get("volumes", ())} - {"minicluster-tokens"}),
        "containers": [
            (
                each["name"],
                each.get("command"),
                sorted({mount["mountPath"] for mount in each["volumeMounts"]} - {TOKENS_DIR}),
            )
            for each in (*pod.get("initContainers", ()), *pod.get("containers", ()))
        ],
    }


def test_render_prints_the_same_objects() -> None:
    """`minicluster render`, of which only texts may differ."""
    document = DATA / "documents" / "hello-world.yaml"
    shown = subprocess.check_output([*adapters.program(), "render", str(document)], text=True)
    heads = re.compile(r"^(kind|  name): .*$", re.MULTILINE)
    old = (DATA / "objects" / "hello-world.command.yaml").read_text()
    assert heads.findall(shown) == heads.findall(old)
    assert shown.startswith(old.partition("---\n")[0])
