"""The images of containers/, really built: archives in the cache, named by what they are made of.

localhost/minicluster-operator:VERSION   Dockerfile.operator; nodes also know it by its name in the registry
localhost/flux-view:built                Dockerfile.flux-view, with the embedded instance in place of Flux
localhost/minicluster-rest:VERSION       Dockerfile.rest-api; nodes also know it by its name in the registry
localhost/minicluster-burst:VERSION      Dockerfile.burst-service; the same

The Dockerfiles are built as they are. Only the images that they begin with are ours, by their own arguments:
a base of Debian's packages, and one in which `micromamba` finds its packages installed.
"""

import hashlib
import os
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.devcluster import builder, image_store, node_images
from tests.devcluster.archives import Archive
from tests.devcluster.builder import Builder
from tests.devcluster.images import Entry, Image, digest, layer, locked
from tests.devcluster.python_tree import PROJECT

CONTAINERS = PROJECT / "containers"
OPERATOR = "localhost/minicluster-operator"
IN_REGISTRY = "ghcr.io/flux-framework/minicluster-operator"
REST_API = "localhost/minicluster-rest"
REST_API_IN_REGISTRY = "ghcr.io/flux-framework/minicluster-rest"
BURST_SERVICE = "localhost/minicluster-burst"
BURST_SERVICE_IN_REGISTRY = "ghcr.io/flux-framework/minicluster-burst"
OPERATOR_FILE = CONTAINERS / "Dockerfile.operator"
REST_API_FILE = CONTAINERS / "Dockerfile.rest-api"
BURST_SERVICE_FILE = CONTAINERS / "Dockerfile.burst-service"
VIEW = "localhost/flux-view:built"
PACKAGES = "localhost/micromamba:embedded"
MICROMAMBA = b"""\
#!/bin/sh
test -x /opt/views/flux/bin/flux || exit
echo "micromamba's stand-in was asked to $*"
"""
KEPT = 4  # archives of an image


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an image is built: from which Dockerfile, with which arguments, and of what besides."""

    name: str
    dockerfile: Path
    context: Path
    arguments: Mapping[str, str]
    made_of: str
    aliases: Sequence[str] = ()

    def options(self) -> list[str]:
        """Return the builder's options."""
        return [*(f"--build-arg={name}={value}" for name, value in self.arguments.items()), *revision()]

    def archive(self, folder: Path) -> Archive:
        """Return the archive, which may be still to be written; of something else it is another one."""
        known = (builder.EPOCH, self.dockerfile.read_text(), self.options(), self.made_of)
        key = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
        family = self.name.rpartition("/")[2].replace(":", "-")
        return Archive(self.name, folder / f"{family}-{key}.tar", self.aliases)


def build(environ: Mapping[str, str] = os.environ) -> list[Archive]:
    """Return the images of operator, view, RESTful API and burst service; what has changed is built now.

    Raises MissingProgramsError where they cannot be built.
    """
    builder.require(environ)
    folder, start = image_store.folder(environ), packages()
    recipes = operator(), view(start), rest_api(), burst_service()
    found = [recipe.archive(folder) for recipe in recipes]
    if not all(each.file.exists() for each in found):
        with locked(folder / "builder"), builder.opened(folder / "builder", environ) as opened:
            builder.provide_base(opened)
            for recipe, archive in zip(recipes, found, strict=True):
                make(opened, recipe, archive, start)
    for each in found:
        keep(each.file)
    return found


def operator() -> Recipe:
    """Return how the operator's image is built."""
    return of_project(OPERATOR_FILE, OPERATOR, IN_REGISTRY)


def rest_api() -> Recipe:
    """Return how the RESTful API's image is built: most of its steps are those of the operator's."""
    return of_project(REST_API_FILE, REST_API, REST_API_IN_REGISTRY)


def burst_service() -> Recipe:
    """Return how the burst service's image is built, in the same way."""
    return of_project(BURST_SERVICE_FILE, BURST_SERVICE, BURST_SERVICE_IN_REGISTRY)


def burst_service_for_clouds() -> Recipe:
    """Return how the same image is built with the clients of clouds: only who asks for it needs it."""
    found = burst_service()
    arguments = {**found.arguments, "REQUIREMENTS": "clouds.txt"}
    return replace(found, name=f"{BURST_SERVICE}:{version()}-clouds", arguments=arguments, aliases=())


def of_project(dockerfile: Path, name: str, in_registry: str) -> Recipe:
    """Return how an image is built that has this project, of its version."""
    named, alias = (f"{each}:{version()}" for each in (name, in_registry))
    base = {"PYTHON": builder.base_name()}
    return Recipe(named, dockerfile, PROJECT, base, contents(sources(dockerfile)), [alias])


def view(start: Image) -> Recipe:
    """Return how the view is built. It has the embedded instance: Flux runs only where it was installed."""
    bases = {"BASE": builder.base_name(), "MICROMAMBA": start.name}
    return Recipe(VIEW, CONTAINERS / "Dockerfile.flux-view", CONTAINERS, bases, digest(start.manifest()))


def packages() -> Image:
    """Return an image in which `micromamba` finds the embedded instance installed, where a view has Flux."""
    program = {"usr/bin/micromamba": Entry(content=MICROMAMBA)}
    last = layer(image_store.folder() / "layers", "micromamba", [MICROMAMBA], lambda: program)
    return Image(PACKAGES, [*node_images.view_layers(), last])


def make(opened: Builder, recipe: Recipe, archive: Archive, start: Image) -> None:
    """Build an image and write its archive, where that is not there."""
    if archive.file.exists():
        return
    if start.name in recipe.arguments.values():
        with tempfile.TemporaryDirectory() as work:
            start.write(Path(work, "start.tar"))
            opened.take(Path(work, "start.tar"), start.name)
    opened.build(recipe.dockerfile, recipe.context, recipe.name, *recipe.options())
    opened.give(recipe.name, archive.file)


def keep(file: Path) -> None:
    """Keep an archive as the newest of its image; the oldest are removed."""
    os.utime(file)
    family = file.name.rpartition("-")[0]
    found = sorted(file.parent.glob(f"{family}-*.tar"), key=lambda each: each.stat().st_mtime)
    for old in found[:-KEPT]:
        old.unlink()


def version() -> str:
    """Return the project's version."""
    return str(tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"])


def revision() -> list[str]:
    """Return the option for a label with the commit that is checked out; none where there is no git."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return [] if done.returncode else [f"--label=org.opencontainers.image.revision={done.stdout.strip()}"]


def sources(dockerfile: Path = OPERATOR_FILE) -> list[Path]:
    """List the files that a build is sent, by its .dockerignore; without another name, the operator's."""
    lines = dockerfile.with_name(f"{dockerfile.name}.dockerignore").read_text().splitlines()
    sent = [PROJECT / line.removeprefix("!") for line in lines if line.startswith("!")]
    found = [file for path in sent for file in ([path] if path.is_file() else path.rglob("*"))]
    return sorted(file for file in found if file.is_file() and "__pycache__" not in file.parts)


def contents(files: Iterable[Path]) -> str:
    """Return a digest of files' names and contents."""
    known = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        known.update(f"{file.relative_to(PROJECT)} {len(content)}\n".encode() + content)
    return known.hexdigest()
