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
from tests.devcluster.shipped_images import BURST_SERVICE_FILE, OPERATOR_FILE, REST_API_FILE

pytestmark = pytest.mark.timeout(1800)  # the first time: packages are downloaded
MEGABYTE = 10**6
SBOM = "/opt/minicluster/share/sbom.cdx.json"
AGAIN = "localhost/built-again"
BOTH = pytest.mark.parametrize("number", [0, 2, 3], ids=["operator", "rest-api", "burst-service"])
"""The images that have this project: where they are among all."""
BURST_IMPORTS = "import asyncpg, aiosqlite, burst.kubernetes.process; print('complete')"
IMPORTS = "import asyncpg, restful.app, restful.page.routes, uvloop; print('complete')"


@pytest.fixture(scope="module")
def opened(shipped: list[Archive]) -> Iterator[Builder]:
    """The builder, with these images in its store, and their base: a store that is begun anew has none."""
    folder = image_store.folder() / "builder"
    with locked(folder), builder.opened(folder) as found:
        builder.provide_base(found)
        for archive in shipped:
            found.take(archive.file, archive.name)
        yield found


@pytest.fixture
def operator(shipped: list[Archive]) -> Archive:
    """The operator's image."""
    return shipped[0]


@pytest.fixture
def rest_api(shipped: list[Archive]) -> Archive:
    """The RESTful API's image."""
    return shipped[2]


@pytest.mark.parametrize("command", ["operator", "metrics-adapter"])
def test_both_programs_start_in_the_operators_image(opened: Builder, operator: Archive, command: str) -> None:
    assert f"minicluster {command}" in opened.execute(operator.name, "minicluster", command, "--help")


def test_the_service_starts_in_its_own_image(opened: Builder, rest_api: Archive) -> None:
    assert "minicluster rest-api" in opened.execute(rest_api.name, "minicluster", "rest-api", "--help")
    assert opened.execute(rest_api.name, "python3", "-c", IMPORTS) == "complete"


def test_the_burst_service_starts_in_its_own_image(opened: Builder, shipped: list[Archive]) -> None:
    name = shipped[3].name
    assert "minicluster burst-service" in opened.execute(name, "minicluster", "burst-service", "--help")
    assert opened.execute(name, "python3", "-c", BURST_IMPORTS) == "complete"


@pytest.mark.parametrize("number", range(4), ids=["operator", "view", "rest-api", "burst-service"])
def test_an_image_runs_as_a_user_that_is_a_number_and_not_root(shipped: list[Archive], number: int) -> None:
    assert shipped[number].config()["config"]["User"] == "65532:65532"


@BOTH
@pytest.mark.parametrize("program", ["cc", "gcc", "pip"])
def test_an_image_has_nothing_to_build_or_install_with(
    opened: Builder, shipped: list[Archive], number: int, program: str
) -> None:
    with pytest.raises(ComponentError, match="exit status 1"):
        opened.execute(shipped[number].name, "sh", "-c", f"command -v {program}")


def test_the_operators_image_adds_little_to_its_base(opened: Builder, operator: Archive) -> None:
    """Without kubernetes' second client, and with compiled files only of what is loaded."""
    assert size(opened, operator.name) < 130 * MEGABYTE


def test_the_services_image_adds_little_to_the_operators(
    opened: Builder, operator: Archive, rest_api: Archive
) -> None:
    """A node that has one of them downloads one layer for the other, and the last: minicluster itself."""
    assert size(opened, rest_api.name) - size(opened, operator.name) < 80 * MEGABYTE
    common = set(layers(opened, operator.name))
    assert [layer in common for layer in layers(opened, rest_api.name)] == [True, True, True, False, False]


def size(opened: Builder, name: str) -> int:
    """Return the bytes that an image has besides its base."""
    return int(opened.execute(name, "du", "--summarize", "--bytes", "/opt/minicluster").split()[0])


def inspected(opened: Builder, name: str) -> dict[str, Any]:
    """Return what the builder knows of an image."""
    found: dict[str, Any] = json.loads(opened.run("inspect", "--type", "image", name))
    return found


def layers(opened: Builder, name: str) -> list[str]:
    """Return the digests of an image's layers."""
    found: list[str] = inspected(opened, name)["OCIv1"]["rootfs"]["diff_ids"]
    return found


@pytest.mark.parametrize(
    ("number", "title"),
    [(0, "minicluster-operator"), (2, "minicluster-rest"), (3, "minicluster-burst")],
    ids=["operator", "rest-api", "burst-service"],
)
def test_an_image_is_labelled(shipped: list[Archive], number: int, title: str) -> None:
    labels = shipped[number].config()["config"]["Labels"]
    found = {
        name: labels.get(f"org.opencontainers.image.{name}") for name in ("title", "version", "licenses")
    }
    assert found == {"title": title, "version": project()["version"], "licenses": project()["license"]}


@BOTH
def test_the_label_of_the_revision_is_the_commit(shipped: list[Archive], number: int) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git's")
    revision = shipped[number].config()["config"]["Labels"]["org.opencontainers.image.revision"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", revision)


def pinned(lock: str, line_end: str = "") -> dict[str, str]:
    """Return the versions in a lock; with `line_end` those of lines that end so right after the version."""
    pin = re.compile(rf"^([\w.-]+)(?:\[[\w,-]+\])?==([^ ;]+){line_end}", re.MULTILINE)
    return dict(pin.findall((ROOT / "requirements" / lock).read_text()))


@pytest.mark.parametrize(
    ("number", "lock", "package"),
    [(0, "runtime.txt", "kubernetes"), (2, "rest.txt", "asyncpg"), (3, "burst.txt", "aiosqlite")],
    ids=["operator", "rest-api", "burst-service"],
)
def test_the_list_of_packages_has_what_is_locked_and_minicluster(
    opened: Builder, shipped: list[Archive], number: int, lock: str, package: str
) -> None:
    """All that is locked for every system, and nothing that is not locked."""
    sbom = json.loads(opened.execute(shipped[number].name, "cat", SBOM))
    listed = {re.sub(r"[-_.]+", "-", each["name"].lower()): each["version"] for each in sbom["components"]}
    root = sbom["metadata"]["component"]
    unconditional = pinned(lock, r" \\$")
    assert package in unconditional
    assert unconditional.items() <= listed.items() <= pinned(lock).items()
    assert (sbom["bomFormat"], root["name"], root["version"]) == (
        "CycloneDX",
        "minicluster",
        project()["version"],
    )


@pytest.mark.parametrize("lock", ["runtime.txt", "rest.txt", "burst.txt", "clouds.txt", "image-build.txt"])
def test_an_image_is_made_of_the_versions_that_are_tested(lock: str) -> None:
    """`make lock` writes them together; what no other lock has is a tool of the build alone."""
    tested = pinned("lock.txt")
    assert {name: tested.get(name, version) for name, version in pinned(lock).items()} == pinned(lock)


def test_minicluster_needs_nothing_that_is_not_tested() -> None:
    assert pinned("runtime.txt").items() <= pinned("rest.txt").items() <= pinned("lock.txt").items()
    burst, clouds = pinned("burst.txt").items(), pinned("clouds.txt").items()
    assert pinned("runtime.txt").items() <= burst <= clouds <= pinned("lock.txt").items()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files with other times and modes, as in another checkout: no step that copies them is known."""
    folder = tmp_path_factory.mktemp("checkout")
    made_of = {*shipped_images.sources(REST_API_FILE), *shipped_images.sources(BURST_SERVICE_FILE)}
    for file in made_of:  # the operator's image is made of fewer
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copy.chmod(0o600)
        os.utime(copy, (0, 0))
    return folder


@pytest.mark.parametrize(
    ("number", "dockerfile"),
    [(0, OPERATOR_FILE), (2, REST_API_FILE), (3, BURST_SERVICE_FILE)],
    ids=["operator", "rest-api", "burst-service"],
)
def test_a_second_build_has_the_same_layers(
    opened: Builder, shipped: list[Archive], copied: Path, number: int, dockerfile: Path
) -> None:
    """The second one finds most steps of the first one's."""
    for name in (dockerfile.name, f"{dockerfile.name}.dockerignore"):
        shutil.copy(CONTAINERS / name, copied)
    option = f"--build-arg=PYTHON={builder.base_name()}"
    again = f"{AGAIN}:{number}"
    opened.build(copied / dockerfile.name, copied, again, option)
    assert layers(opened, again) == layers(opened, shipped[number].name)


def test_the_view_has_flux_at_each_path_that_pods_use(opened: Builder) -> None:
    command = "/opt/view/bin/flux --version && ls -d /opt/views /opt/software"
    assert "/opt/software\n/opt/views" in opened.execute(shipped_images.VIEW, "sh", "-c", command)
