"""The builder of images, and its archives. Nothing is built here: see tests/deploy/test_images.py."""

import contextlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from tests.devcluster import MissingProgramsError, builder, network, shipped_images
from tests.devcluster.__main__ import main
from tests.devcluster.archives import Archive
from tests.devcluster.errors import ComponentError
from tests.devcluster.images import Entry, Image, layer
from tests.devcluster.shipped_images import Recipe

NAMES = ["localhost/one:1", "example.org/one:1"]


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be root."""
    monkeypatch.setattr("os.geteuid", lambda: 0)


def test_building_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MissingProgramsError, match="building images needs root"):
        builder.require({})


def test_missing_programs_are_named_by_their_packages(
    root: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(network, "FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    packages = "buildah, mmdebstrap, util-linux"
    with pytest.raises(
        MissingProgramsError, match=f"building images needs programs of the packages {packages}"
    ):
        builder.require({})


def test_the_chart_is_not_installed_without_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--install"])
    assert "--install needs nodes for the pods: --nodes 4" in capsys.readouterr().err


def test_reaching_another_cluster_needs_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--reachable"])
    assert "--reachable needs nodes, whose network is reached" in capsys.readouterr().err


@pytest.mark.parametrize(("layers", "kept"), [(builder.MAX_LAYERS, True), (builder.MAX_LAYERS + 1, False)])
def test_a_store_that_has_grown_large_is_begun_anew(tmp_path: Path, layers: int, *, kept: bool) -> None:
    for number in range(layers):
        (tmp_path / "store" / "layers" / "overlay" / str(number)).mkdir(parents=True)
    with builder.opened(tmp_path / "store", {}):
        assert (tmp_path / "store" / "layers").exists() is kept


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        pytest.param(None, True, id="built"),
        pytest.param(ComponentError("`buildah bud` failed"), True, id="failed"),
        pytest.param(KeyboardInterrupt(), False, id="cut off"),
    ],
)
def test_a_store_in_which_a_build_was_cut_off_is_begun_anew(
    tmp_path: Path, error: BaseException | None, *, kept: bool
) -> None:
    """buildah finds layers in its index that are not on the disk, and would fail from then on."""
    with contextlib.suppress(ComponentError, KeyboardInterrupt), builder.opened(tmp_path, {}):
        (tmp_path / "layers").mkdir()
        if error is not None:
            raise error
    with builder.opened(tmp_path, {}):
        assert (tmp_path / "layers").exists() is kept


def test_an_archive_is_copied_under_the_names_that_nodes_know(tmp_path: Path) -> None:
    own = layer(tmp_path, "layer", ["input"], lambda: {"one": Entry(content=b"one")})
    Image("localhost/built:1", [own]).write(tmp_path / "built.tar")
    archive = Archive(NAMES[0], tmp_path / "built.tar", NAMES[1:])
    archive.write(tmp_path / "copy.tar")
    with tarfile.open(tmp_path / "copy.tar") as copy, tarfile.open(tmp_path / "built.tar") as built:
        index = json.load(copy.extractfile("index.json"))  # type: ignore[arg-type]
        assert sorted(copy.getnames()) == sorted(built.getnames())
    assert [each["annotations"]["io.containerd.image.name"] for each in index["manifests"]] == NAMES
    assert Archive("", tmp_path / "copy.tar").config() == json.loads(Image("", [own]).config())


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """How some image is built."""
    (tmp_path / "Dockerfile").write_text("FROM scratch")
    return Recipe("localhost/some:1", tmp_path / "Dockerfile", tmp_path, {"BASE": "base"}, "sources")


def test_an_image_that_is_made_of_the_same_has_one_archive(recipe: Recipe, tmp_path: Path) -> None:
    assert recipe.archive(tmp_path) == recipe.archive(tmp_path)
    assert recipe.archive(tmp_path).file.name.startswith("some-1-")


def test_another_dockerfile_is_another_archive(recipe: Recipe, tmp_path: Path) -> None:
    before = recipe.archive(tmp_path)
    recipe.dockerfile.write_text("FROM scratch\nUSER 1")
    assert recipe.archive(tmp_path) != before


def test_only_the_newest_archives_of_an_image_stay(tmp_path: Path) -> None:
    files = [tmp_path / f"some-1-{number}.tar" for number in range(shipped_images.KEPT + 1)]
    for age, file in enumerate([tmp_path / "other-1-0.tar", *files]):
        file.touch()
        os.utime(file, (age, age))
    shipped_images.keep(files[1])
    assert sorted(tmp_path.iterdir()) == [tmp_path / "other-1-0.tar", *files[1:]]
