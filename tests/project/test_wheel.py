"""What the wheel ships, and what the lock says."""

import importlib.metadata
import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = {"minicluster", "metrics_api", "broker_config", "queue_policies", "restful", "burst"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    directory = tmp_path_factory.mktemp("wheel")
    (artifact,) = WheelBuilder(str(ROOT)).build(directory=str(directory), versions=["standard"])
    with zipfile.ZipFile(artifact) as archive:
        yield archive


def test_wheel_ships_exactly_the_named_packages(wheel: zipfile.ZipFile) -> None:
    """No test, example or benchmark reaches a user's site-packages."""
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_wheel_ships_every_file_of_a_package(wheel: zipfile.ZipFile, package: str) -> None:
    """Templates and py.typed travel with the code that reads them."""
    wanted = {
        str(path.relative_to(ROOT))
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= set(wheel.namelist())


def test_wheel_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").iterdir()), ids=lambda path: path.stem)
def test_lock_is_hashed_and_has_no_address(path: Path) -> None:
    """Every requirement is pinned with hashes, and none names a place to download it from."""
    text = path.read_text()
    blocks = re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]
    pin = re.compile(r"[a-z0-9-]+(?:\[[a-z0-9,-]+\])?==\S+.*\\\n    --hash=sha256:[0-9a-f]{64}\b")
    assert blocks
    assert [each for each in blocks if not pin.match(each)] == []
    assert "://" not in text


def test_nothing_is_installed_without_hashes() -> None:
    """By make: but for the project itself, which needs nothing that is not there."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    installs = [line for line in lines if "pip install" in line]
    ours = [line for line in installs if line.endswith("--no-deps --no-build-isolation -e .")]
    assert len(ours) == 1
    assert [line for line in installs if "--require-hashes -r requirements/" not in line] == ours


def test_lock_names_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = {re.split(r"[><=\[ ]", line)[0].lower() for group in groups for line in group}
    assert wanted <= locked().keys()


def test_lock_pins_a_name_with_the_extras_that_are_asked_for() -> None:
    """The pip of Python 3.11 takes the newest version of a name with extras if it is pinned without them."""
    pinned = locked()
    asked = [
        requirement
        for distribution in importlib.metadata.distributions()
        if canonicalize_name(distribution.name) in pinned
        for requirement in map(Requirement, distribution.requires or ())
        if requirement.extras and (requirement.marker is None or requirement.marker.evaluate({"extra": ""}))
    ]
    assert asked
    for requirement in asked:
        assert requirement.extras <= pinned[canonicalize_name(requirement.name)]


def locked() -> dict[str, set[str]]:
    """Return the names that are pinned, each with its extras."""
    text = (ROOT / "requirements/lock.txt").read_text()
    pins = re.findall(r"^([a-z0-9-]+)(?:\[([a-z0-9,-]+)\])?==", text, re.MULTILINE)
    return {name: set(filter(None, extras.split(","))) for name, extras in pins}
