"""The images of containers/, built by a real builder. tests/kubernetes/pods/shipped runs them."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import CONTAINERS, ROOT, project
from tests.devcluster import ComponentError, builder, image_store, shipped_images
from tests.devcluster.archives import Archive
from tests.devcluster.builder import Builder
from tests.devcluster.images import locked

pytestmark = pytest.mark.timeout(1800)  # the first time: packages are downloaded
MEGABYTE = 10**6
SBOM = "/opt/minicluster/share/sbom.cdx.json"
AGAIN = "localhost/built:again"


@pytest.fixture(scope="module")
def opened(shipped: list[Archive]) -> Iterator[Builder]:
    """The builder, with these images in its store."""
    folder = image_store.folder() / "builder"
    with locked(folder), builder.opened(folder) as found:
        for archive in shipped:
            found.take(archive.file, archive.name)
        yield found


@pytest.fixture
def operator(shipped: list[Archive]) -> Archive:
    """The operator's image."""
    return shipped[0]


@pytest.mark.parametrize("command", ["operator", "metrics-adapter"])
def test_both_programs_start_in_the_operators_image(opened: Builder, operator: Archive, command: str) -> None:
    assert f"minicluster {command}" in opened.execute(operator.name, "minicluster", command, "--help")


@pytest.mark.parametrize("number", [0, 1], ids=["operator", "view"])
def test_an_image_runs_as_a_user_that_is_a_number_and_not_root(shipped: list[Archive], number: int) -> None:
    assert shipped[number].config()["config"]["User"] == "65532:65532"


@pytest.mark.parametrize("program", ["cc", "gcc", "pip"])
def test_the_operators_image_has_nothing_to_build_or_install_with(
    opened: Builder, operator: Archive, program: str
) -> None:
    with pytest.raises(ComponentError, match="exit status 1"):
        opened.execute(operator.name, "sh", "-c", f"command -v {program}")


def test_the_operators_image_adds_little_to_its_base(opened: Builder, operator: Archive) -> None:
    """Without kubernetes' second client, and with compiled files only of what is loaded."""
    sizes = [size(opened, name) for name in (operator.name, builder.base_name())]
    assert sizes[0] - sizes[1] < 130 * MEGABYTE


def size(opened: Builder, name: str) -> int:
    """Return the bytes of an image's layers, unpacked."""
    manifest = json.loads(inspected(opened, name)["Manifest"])
    return sum(layer["size"] for layer in manifest["layers"])


def inspected(opened: Builder, name: str) -> dict[str, Any]:
    """Return what the builder knows of an image."""
    found: dict[str, Any] = json.loads(opened.run("inspect", "--type", "image", name))
    return found


def layers(opened: Builder, name: str) -> list[str]:
    """Return the digests of an image's layers."""
    found: list[str] = inspected(opened, name)["OCIv1"]["rootfs"]["diff_ids"]
    return found


def test_the_operators_image_is_labelled(operator: Archive) -> None:
    labels = operator.config()["config"]["Labels"]
    found = {
        name: labels.get(f"org.opencontainers.image.{name}") for name in ("title", "version", "licenses")
    }
    assert found == {
        "title": "minicluster-operator",
        "version": project()["version"],
        "licenses": project()["license"],
    }


def test_the_label_of_the_revision_is_the_commit(operator: Archive) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git's")
    revision = operator.config()["config"]["Labels"]["org.opencontainers.image.revision"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", revision)


def pinned(lock: str, line_end: str = "") -> dict[str, str]:
    """Return the versions in a lock; with `line_end` those of lines that end so right after the version."""
    pin = re.compile(rf"^([\w.-]+)(?:\[[\w,-]+\])?==([^ ;]+){line_end}", re.MULTILINE)
    return dict(pin.findall((ROOT / "requirements" / lock).read_text()))


def test_the_list_of_packages_has_what_is_locked_and_minicluster(opened: Builder, operator: Archive) -> None:
    """All that is locked for every system, and nothing that is not locked."""
    sbom = json.loads(opened.execute(operator.name, "cat", SBOM))
    listed = {re.sub(r"[-_.]+", "-", each["name"].lower()): each["version"] for each in sbom["components"]}
    root = sbom["metadata"]["component"]
    unconditional = pinned("runtime.txt", r" \\$")
    assert "kubernetes" in unconditional
    assert unconditional.items() <= listed.items() <= pinned("runtime.txt").items()
    assert (sbom["bomFormat"], root["name"], root["version"]) == (
        "CycloneDX",
        "minicluster",
        project()["version"],
    )


@pytest.mark.parametrize("lock", ["runtime.txt", "image-build.txt"])
def test_an_image_is_made_of_the_versions_that_are_tested(lock: str) -> None:
    """`make lock` writes them together; what no other lock has is a tool of the build alone."""
    tested = pinned("lock.txt")
    assert {name: tested.get(name, version) for name, version in pinned(lock).items()} == pinned(lock)


def test_minicluster_needs_nothing_that_is_not_tested() -> None:
    assert pinned("runtime.txt").items() <= pinned("lock.txt").items()


def test_a_second_build_has_the_same_layers(opened: Builder, operator: Archive, tmp_path: Path) -> None:
    """Of files with other times and modes, as in another checkout: no step that copies them is known."""
    for file in shipped_images.sources():
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copy.chmod(0o600)
        os.utime(copy, (0, 0))
    for name in ("Dockerfile.operator", "Dockerfile.operator.dockerignore"):
        shutil.copy(CONTAINERS / name, tmp_path)
    option = f"--build-arg=PYTHON={builder.base_name()}"
    opened.build(tmp_path / "Dockerfile.operator", tmp_path, AGAIN, option)
    assert layers(opened, AGAIN) == layers(opened, operator.name)


def test_the_view_has_flux_at_each_path_that_pods_use(opened: Builder) -> None:
    command = "/opt/view/bin/flux --version && ls -d /opt/views /opt/software"
    assert "/opt/software\n/opt/views" in opened.execute(shipped_images.VIEW, "sh", "-c", command)
