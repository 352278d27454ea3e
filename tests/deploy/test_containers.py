"""The Dockerfiles as texts: what they copy is there, and what other files have of it is the same."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from minicluster.document import load
from minicluster.plan import Site, render
from tests.deploy.files import CONTAINERS, ROOT, instructions, project, the

OPERATOR = CONTAINERS / "Dockerfile.operator"
REST_API = CONTAINERS / "Dockerfile.rest-api"
BURST_SERVICE = CONTAINERS / "Dockerfile.burst-service"
VIEW = CONTAINERS / "Dockerfile.flux-view"
WITH_PROJECT = [OPERATOR, REST_API, BURST_SERVICE]
OF_PROJECT = pytest.mark.parametrize("dockerfile", WITH_PROJECT, ids=lambda path: path.suffix)
ALL = pytest.mark.parametrize("dockerfile", [*WITH_PROJECT, VIEW], ids=lambda path: path.suffix)
PATHS = ("/etc/passwd", "/etc/group")
"""What the last stage's steps write to."""
FIRST = "FROM ${PYTHON} AS packages\n"
LAST = "\nFROM ${PYTHON}\n"


def copied(dockerfile: Path) -> list[list[str]]:
    """List what is copied from the checkout: the sources, and last the target."""
    found = [rest.split() for word, rest in instructions(dockerfile) if word == "COPY"]
    return [words for words in found if not words[0].startswith("--")]


@OF_PROJECT
def test_what_an_image_is_made_of_is_in_the_checkout(dockerfile: Path) -> None:
    sources = {source for *found, _ in copied(dockerfile) for source in found}
    assert [source for source in sources if not (ROOT / source).exists()] == []


@OF_PROJECT
def test_every_package_of_the_wheel_is_copied(dockerfile: Path) -> None:
    """A build leaves out, without a word, what is not there."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["packages"]) <= {source for *found, _ in copied(dockerfile) for source in found}


@OF_PROJECT
def test_the_build_is_sent_what_it_copies_and_nothing_else(dockerfile: Path) -> None:
    ignored = (CONTAINERS / f"{dockerfile.name}.dockerignore").read_text().splitlines()
    sources = {source for *found, _ in copied(dockerfile) for source in found}
    assert ignored[0] == "*"
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == sources


@ALL
def test_every_stage_that_is_copied_from_has_a_name(dockerfile: Path) -> None:
    """And none has a name that is not used."""
    steps = list(instructions(dockerfile))
    named = {rest.split(" AS ")[1] for word, rest in steps if word == "FROM" and " AS " in rest}
    from_stages = {
        rest.split()[0].partition("=")[2]
        for word, rest in steps
        if word == "COPY" and rest.startswith("--from")
    }
    begun_with = {rest.split()[0] for word, rest in steps if word == "FROM"}
    assert from_stages | (begun_with & named) == named


@ALL
def test_the_user_is_a_number_and_not_root(dockerfile: Path) -> None:
    """The one that the chart names."""
    assert ("USER", "65532:65532") in list(instructions(dockerfile))


@ALL
def test_every_image_from_outside_is_an_argument_that_a_digest_can_replace(dockerfile: Path) -> None:
    """By default it is public, with its registry: builders other than Docker ask which one is meant."""
    steps = list(instructions(dockerfile))
    named = {rest.partition(" AS ")[2] for word, rest in steps if word == "FROM"}
    outside = {rest.split()[0].strip("${}") for word, rest in steps if word == "FROM"} - named
    defaults = dict(rest.split("=", 1) for word, rest in steps if word == "ARG" and "=" in rest)
    assert [name for name in outside if not defaults[name].startswith("docker.io/")] == []


@OF_PROJECT
def test_the_user_and_the_group_have_a_name(dockerfile: Path, tmp_path: Path) -> None:
    """The last stage's RUN lines, with the files of this folder for the image's."""
    (tmp_path / "etc").mkdir()
    steps = list(instructions(dockerfile))
    last = max(index for index, (word, _) in enumerate(steps) if word == "FROM")
    for command in [rest for word, rest in steps[last:] if word == "RUN"]:
        for path in PATHS:
            command = command.replace(path, f"{tmp_path}{path}")  # noqa: PLW2901
        subprocess.run(["sh", "-c", command], check=True)
    names = [(tmp_path / "etc" / each).read_text().split(":")[:3:2] for each in ("passwd", "group")]
    assert names == [["minicluster", "65532"]] * 2


@pytest.mark.parametrize("service", [REST_API, BURST_SERVICE], ids=lambda path: path.suffix)
def test_a_service_begins_with_the_stages_of_the_operator(service: Path) -> None:
    """Word for word: a builder finds them made, and all images have these layers."""
    texts = [path.read_text().partition(FIRST)[2] for path in (OPERATOR, service)]
    common = texts[0].partition(LAST)[0]
    assert common.count("\nFROM ") == 1
    assert texts[1].startswith(common)


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


def test_the_readme_builds_each_dockerfile_with_the_version_of_the_project() -> None:
    readme = (CONTAINERS / "README.md").read_text()
    missing = [
        text
        for text in (
            "-f containers/Dockerfile.operator ",
            "-f containers/Dockerfile.flux-view ",
            "-f containers/Dockerfile.rest-api ",
            "-f containers/Dockerfile.burst-service ",
            f"minicluster-operator:{project()['version']}",
            f"minicluster-rest:{project()['version']}",
            f"minicluster-burst:{project()['version']}",
            "make images",
        )
        if text not in readme
    ]
    assert missing == []
