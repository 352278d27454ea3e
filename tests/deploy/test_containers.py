"""The Dockerfiles, without a container engine: what they copy is there, and the operator's steps work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minicluster.document import load
from minicluster.plan import Site, render
from tests.deploy.files import CONTAINERS, ROOT, instructions, project, the

OPERATOR = CONTAINERS / "Dockerfile.operator"
VIEW = CONTAINERS / "Dockerfile.flux-view"
MINUTES = 60
# Paths that a build uses besides its working directory.
PATHS = ("/wheels", "/opt/minicluster", "/etc/passwd", "/etc/group")
UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError")


def copied(dockerfile: Path) -> list[list[str]]:
    """List what is copied from the checkout: the sources, and last the target."""
    found = [rest.split() for word, rest in instructions(dockerfile) if word == "COPY"]
    return [words for words in found if not words[0].startswith("--")]


def test_what_the_operators_image_is_made_of_is_in_the_checkout() -> None:
    sources = {source for *found, _ in copied(OPERATOR) for source in found}
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_build_is_sent_what_it_copies_and_nothing_else() -> None:
    ignored = (CONTAINERS / "Dockerfile.operator.dockerignore").read_text().splitlines()
    sources = {source for *found, _ in copied(OPERATOR) for source in found}
    assert ignored[0] == "*"
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == sources


@pytest.mark.parametrize("dockerfile", [OPERATOR, VIEW], ids=lambda path: path.suffix)
def test_every_stage_that_is_copied_from_has_a_name(dockerfile: Path) -> None:
    steps = list(instructions(dockerfile))
    named = {rest.split(" AS ")[1] for word, rest in steps if word == "FROM" and " AS " in rest}
    from_stages = {
        rest.split()[0].partition("=")[2]
        for word, rest in steps
        if word == "COPY" and rest.startswith("--from")
    }
    assert from_stages == named


def test_the_operator_is_not_root() -> None:
    """As a number, and the one that the chart says."""
    assert ("USER", "65532:65532") in list(instructions(OPERATOR))


def test_the_operators_user_and_group_have_a_name(tmp_path: Path) -> None:
    """The last stage's RUN lines, with the files of this folder for the image's."""
    (tmp_path / "etc").mkdir()
    steps = list(instructions(OPERATOR))
    last = max(index for index, (word, _) in enumerate(steps) if word == "FROM")
    for command in [rest for word, rest in steps[last:] if word == "RUN"]:
        subprocess.run(["sh", "-c", relocated(command, tmp_path)], check=True)
    names = [(tmp_path / "etc" / each).read_text().split(":")[:3:2] for each in ("passwd", "group")]
    assert names == [["minicluster", "65532"]] * 2


@pytest.mark.parametrize("image_volumes", [True, False], ids=["mounted", "copied"])
def test_the_view_has_each_folder_that_pods_use(image_volumes: bool) -> None:
    """Mounted with the view at its own path; `view`, below the document's mount path, is looked into."""
    [document] = load(
        "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: mc}\n"
        "spec: {size: 1, containers: [{image: app, command: hostname}]}\n"
    )
    job = the(render(document, Site(image_volumes=image_volumes)), "Job")
    mounts = job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    folders = {mount["mountPath"] for mount in mounts if mount["mountPath"].startswith("/opt/")}
    steps = "\n".join(rest for word, rest in instructions(VIEW) if word in {"COPY", "RUN"})
    assert folders == {"/opt/views", "/opt/software"}
    assert [folder for folder in [*folders, "views/flux /opt/view"] if folder not in steps] == []


@pytest.mark.timeout(10 * MINUTES)
def test_the_operators_steps_make_a_program_that_starts(tmp_path: Path) -> None:
    """The RUN lines as they are, in a folder that holds what is copied; then the entry point."""
    environment = {**os.environ, "PATH": f"{build_tools(tmp_path)}:{os.environ['PATH']}"}
    sources = tmp_path / "src"
    for *found, target in copied(OPERATOR):
        copy(found, sources / target)
    (tmp_path / "etc").mkdir()
    for command in [rest for word, rest in instructions(OPERATOR) if word == "RUN"]:
        run(relocated(command, tmp_path), sources, environment)
    [entry] = [rest for word, rest in instructions(OPERATOR) if word == "ENTRYPOINT"]
    program, *words = entry.strip("[]").replace('"', "").split(", ")
    argv = [str(tmp_path / "opt/minicluster/bin" / program), *words, "--help"]
    completed = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")


def build_tools(tmp_path: Path) -> Path:
    """Make `python` and `pip` as the base image has them; return their folder."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "image"], check=True)
    return tmp_path / "image" / "bin"


def copy(sources: list[str], target: Path) -> None:
    """Copy as COPY does: one folder becomes the target, files go into it."""
    for source in (ROOT / name for name in sources):
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def relocated(command: str, folder: Path) -> str:
    """Name this test's folder for the root of the image."""
    for path in PATHS:
        command = command.replace(path, f"{folder}{path}")
    return command


def run(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Run a step; without a package index in reach the test is skipped, but not under CI."""
    completed = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if (
        completed.returncode
        and any(word in completed.stderr for word in UNREACHABLE)
        and not os.environ.get("CI")
    ):
        pytest.skip("no package index in reach to download the locked wheels from")
    assert completed.returncode == 0, completed.stderr


def test_the_readme_builds_each_dockerfile_with_the_version_of_the_project() -> None:
    readme = (CONTAINERS / "README.md").read_text()
    missing = [
        text
        for text in (
            "-f containers/Dockerfile.operator ",
            "-f containers/Dockerfile.flux-view ",
            f"minicluster-operator:{project()['version']}",
        )
        if text not in readme
    ]
    assert missing == []
