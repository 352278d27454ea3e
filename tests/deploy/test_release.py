"""`make release`: what it makes, that it makes the same again, and what it refuses."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from deploy import release
from deploy.release import SUMS, Release, problems, write
from tests.deploy.files import ROOT, project
from tests.devcluster import MissingProgramsError
from tests.devcluster.archives import Archive

pytestmark = pytest.mark.timeout(300)  # two builds and an installation
EPOCH = 1_700_000_000
VERSION = project()["version"]
HELM = f"""\
#!{sys.executable}
import sys, tarfile, time, pathlib
folder = pathlib.Path(sys.argv[sys.argv.index("--destination") + 1])
chart = pathlib.Path(sys.argv[2]).name
with tarfile.open(folder / (chart + "-{VERSION}.tgz"), "w:gz") as package:
    for name in ("values.yaml", "Chart.yaml"):
        member = tarfile.TarInfo(chart + "/" + name)
        member.size, member.mtime = len(name), time.time_ns() // 1000
        package.addfile(member, __import__("io").BytesIO(name.encode()))
"""
"""Stands for helm, which also gives the files of a package the present time."""
PYTHON = [f"minicluster-{VERSION}.tar.gz", f"minicluster-{VERSION}-py3-none-any.whl"]
CHARTS = ("minicluster-operator", "minicluster-rest", "minicluster-burst")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two releases of this tree, with helm and the images replaced."""
    work = tmp_path_factory.mktemp("release")
    program, archive = work / "helm", work / "key.tar"
    program.write_text(HELM)
    program.chmod(0o755)
    archive.write_text("an image")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release, "helm", lambda purpose: program)
        patch.setattr(release.platform, "machine", lambda: "x86_64")
        built = [Archive("localhost/flux-view:built", archive)]
        patch.setattr(release.shipped_images, "build", lambda: built)
        for name in ("first", "second"):
            write(Release(VERSION, EPOCH, work / name))
    return [work / "first", work / "second"]


def test_all_files_are_made_with_their_checksums(made: list[Path]) -> None:
    lines = (made[0] / SUMS).read_text().splitlines()
    named = [line.split()[1] for line in lines]
    charts = [f"{chart}-{VERSION}.tgz" for chart in CHARTS]
    assert named == [*PYTHON, *charts, f"flux-view-image-{VERSION}-x86_64.tar"]
    assert sorted([*named, SUMS]) == sorted(each.name for each in made[0].iterdir())
    subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=made[0], check=True)


def test_a_second_run_makes_the_same(made: list[Path]) -> None:
    assert (made[0] / SUMS).read_text() == (made[1] / SUMS).read_text()


@pytest.mark.parametrize("chart", CHARTS)
def test_the_files_of_a_chart_have_the_time_of_the_commit(made: list[Path], chart: str) -> None:
    with tarfile.open(made[0] / f"{chart}-{VERSION}.tgz") as package:
        found = [(each.name, each.mtime) for each in package]
        content = package.extractfile(f"{chart}/values.yaml")
        assert content is not None
        assert content.read() == b"values.yaml"
    names = ("Chart.yaml", "values.yaml")
    assert found == [(f"{chart}/{name}", EPOCH) for name in names]


def test_an_installed_wheel_has_all_commands(made: list[Path], tmp_path: Path) -> None:
    """It was built from the source distribution: this has what the wheel needs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    wheel = made[0] / PYTHON[1]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install, wheel], check=True)
    [site] = tmp_path.glob("lib/python*/site-packages")
    # What it requires is found, and not this tree: a .pth within a folder of a .pth is not read.
    (site / "requirements.pth").write_text(str(Path(pytest.__file__).parents[1]))
    command = [tmp_path / "bin" / "minicluster", "--help"]
    helped = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    where = "import minicluster; print(minicluster.__file__)"
    imported = subprocess.run(
        [python, "-c", where], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert [name for name in project()["entry-points"]["minicluster.commands"] if name not in helped] == []
    assert Path(imported.strip()) == site / "minicluster" / "__init__.py"


LOG = "# Changelog\n\n## [Unreleased]\n{}\n## [0.2.0] - 2026-12-01\n\n- a change\n"
NO_SECTION = (
    "CHANGELOG.md has no section [0.3.0]: give [Unreleased] that name, and the day; or give pyproject.toml"
    " the version that is there"
)
UNRELEASED = (
    "CHANGELOG.md has changes under [Unreleased], and 0.2.0 is there already: give them a version of their"
    " own, there and in pyproject.toml"
)


@pytest.mark.parametrize(
    ("version", "more", "uncommitted", "found"),
    [
        pytest.param("0.2.0", "", "", [], id="released"),
        pytest.param("0.3.0", "- news\n", "", [NO_SECTION], id="no-section"),
        pytest.param("0.2.0", "### Added\n\n- news\n", "", [UNRELEASED], id="unreleased"),
        pytest.param(
            "0.2.0",
            "",
            " M Makefile\n?? new\n",
            ["there are changes in no commit (M Makefile and 1 more): commit them, or take them out"],
            id="uncommitted",
        ),
    ],
)
def test_what_should_not_be_released_is_refused(
    version: str, more: str, uncommitted: str, found: list[str]
) -> None:
    assert problems(version, LOG.format(more), uncommitted) == found


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of little, with one commit of the year 2001, which is not described."""
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.3.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(LOG.format(""))
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1000000000 +0000")
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    return tmp_path


def test_it_is_refused_with_the_way_around(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        release.main([])
    assert caught.value.code == "`make release ANYWAY=1` makes it all the same"
    assert capsys.readouterr().err == f"release 0.3.0: {NO_SECTION}\n"


@pytest.mark.parametrize(("given", "epoch"), [("", 1_000_000_000), ("7", 7)], ids=["commit", "given"])
def test_it_is_made_anyway_with_the_time_of_the_commit(
    tree: Path, monkeypatch: pytest.MonkeyPatch, given: str, epoch: int
) -> None:
    asked: list[Release] = []
    monkeypatch.setattr(release, "write", asked.append)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    release.main(["--anyway"])
    assert asked == [Release("0.3.0", epoch, tree / "dist")]


def test_without_git_it_ends_with_what_git_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    with pytest.raises(SystemExit, match=r"`git status --porcelain` failed: fatal: not a git repository"):
        release.git("status", "--porcelain")


def test_images_that_cannot_be_built_are_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> list[Archive]:
        raise MissingProgramsError("building images needs buildah")

    monkeypatch.setattr(release.shipped_images, "build", refuse)
    assert list(Release(VERSION, EPOCH, tmp_path).images()) == []
    assert capsys.readouterr().out == "no images: building images needs buildah\n"


@pytest.mark.parametrize(("words", "option"), [([], ""), (["ANYWAY=1"], "--anyway")], ids=["plain", "anyway"])
def test_make_runs_it(words: list[str], option: str) -> None:
    command = ["make", "--dry-run", "--no-print-directory", "release", *words]
    # A make around this test hands its own flags on.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=environ)
    printed = done.stdout
    assert printed.splitlines()[-1].strip() == f".venv/bin/python -m deploy.release {option}".strip()
