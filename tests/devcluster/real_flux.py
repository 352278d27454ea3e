"""Real Flux for images, copied from this machine if it is on PATH: to the paths that it was built for.

It cannot be a view image: that holds what is below /opt/views and /opt/software, and Flux runs at its own
prefix only. So it is the layer of an application image, for MiniClusters with `flux.container.disable: true`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster import libraries, python_tree
from tests.devcluster.images import Entry, Tree, executable

# What is needed to build with Flux, to read about it, or to install into its Python.
LEFT_OUT = {"include", "man", "doc", "pkgconfig", "pip", "setuptools", "pkg_resources"}
LEFT_OUT |= {"_distutils_hack", "distutils-precedence.pth"}  # of setuptools: the second imports the first
SUFFIXES = {".a", ".la", ".h"}
ASK = """
import json, sys
packages = [path for path in sys.path if path.endswith("-packages")]
print(json.dumps([sys.prefix, sys.base_prefix, list(sys.version_info[:2]), packages]))
"""


@dataclass(frozen=True, slots=True)
class RealFlux:
    """Where Flux is, and the Python that it uses: an environment, perhaps, and what that is based on.

    `packages` are the folders where that finds packages; a distribution's is not below its Python's library.
    """

    program: Path
    version: str
    environment: Path
    python: Path
    python_version: str
    packages: tuple[Path, ...]

    @property
    def prefix(self) -> Path:
        """The folder that Flux was installed into."""
        return self.program.parent.parent

    @property
    def path(self) -> str:
        """The folder to put on PATH."""
        return str(self.program.parent)


def find(environ: Mapping[str, str] = os.environ) -> RealFlux | None:
    """Find flux-core on PATH; not our own instance, nor another tool of that name."""
    program = shutil.which("flux", path=environ.get("PATH", ""))
    if program is None:
        return None
    output = run([program, "--version"], environ)
    if "libflux-core" not in output or "embedded" in output:
        return None
    prefix, base, version, packages = json.loads(run([program, "python", "-c", ASK], environ))
    name = "python{}.{}".format(*version)
    folders = tuple(map(Path, packages))
    return RealFlux(Path(program).resolve(), output, Path(prefix), Path(base), name, folders)


def run(argv: list[str], environ: Mapping[str, str]) -> str:
    """Ask a program something; nothing if it fails."""
    return subprocess.run(argv, env=dict(environ), capture_output=True, text=True, check=False).stdout


def inputs(flux: RealFlux) -> list[object]:
    """Return what the layer is made of."""
    return [flux.version, flux.program, str(flux.environment), str(flux.python), *map(str, flux.packages)]


def tree(flux: RealFlux) -> Tree:
    """Return Flux, its Python, and all that they load but glibc, at the paths of this machine."""
    home = flux.python / "lib" / flux.python_version
    found = {**copied(flux.prefix), **copied_library(home), **copied_packages(flux.packages)}
    python = flux.python / "bin" / flux.python_version
    found |= {inside(python): python_tree.entry(python)}
    found |= {inside(python.with_name(name)): Entry(target=python.name) for name in ("python3", "python")}
    if flux.environment != flux.python:
        found |= copied(flux.environment)
    programs = [entry.source for entry in found.values() if entry.source and libraries.is_elf(entry.source)]
    loaded = libraries.needed(sorted(programs))
    others = {name: path for name, path in loaded.items() if inside(path) not in found}
    outside = [path for name, path in others.items() if not libraries.of_glibc(name)]
    return {**found, **libraries.at_home(outside)}


def copied(folder: Path) -> dict[str, Entry]:
    """Copy a folder, its links as links, without the parts that no test runs."""
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        unused = path.suffix in SUFFIXES or ".opt-" in path.name
        if LEFT_OUT.isdisjoint(parts) and not unused:
            if path.is_symlink():
                found[inside(path)] = Entry(target=str(path.readlink()))
            elif path.is_file():
                found[inside(path)] = Entry(source=path, mode=executable(path))
    return found


def copied_packages(folders: Iterable[Path]) -> dict[str, Entry]:
    """Copy packages, without what a machine has its Pythons do when they start."""
    found = {path: entry for folder in folders for path, entry in copied(folder).items()}
    return {path: entry for path, entry in found.items() if not path.endswith(".pth")}


def copied_library(home: Path) -> dict[str, Entry]:
    """Copy Python's own library."""
    files: Iterable[Path] = python_tree.files(home)
    return {inside(path): python_tree.entry(path) for path in files}


def inside(path: Path) -> str:
    """Return a path of this machine as one of an image."""
    return str(path).lstrip("/")
