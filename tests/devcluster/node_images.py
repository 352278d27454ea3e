"""The images that nodes have, made of what this machine has; no registry, no network.

localhost/pause:1              holds the namespaces of pods
localhost/app:plain            shell and tools; a user 1000; no Python, no Flux
localhost/minicluster:test     that, Python, and this project's embedded instance: `flux` is on PATH
localhost/lammps:test          that, LAMMPS and MPICH
localhost/flux-view:embedded   a view image with the embedded instance: see plan/objects/flux_view.py
localhost/flux:real            where real Flux is on PATH: Flux at its own path, LAMMPS and MPICH

Documents name images of registries. The names that the examples have, and the view that a document has by
default, are on the nodes too: STAND_INS.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.devcluster import image_store, libraries, lookup, python_tree, real_flux, userland
from tests.devcluster.images import PATH, Entry, Image, Layer, Tree, layer
from tests.devcluster.node_config import PAUSE

PLAIN = "localhost/app:plain"
EMBEDDED = "localhost/minicluster:test"
LAMMPS = "localhost/lammps:test"
VIEW = "localhost/flux-view:embedded"
REAL = "localhost/flux:real"
STAND_INS = {
    PLAIN: "docker.io/library/ubuntu:24.04",
    LAMMPS: "docker.io/library/python:3.12",
    VIEW: "ghcr.io/converged-computing/flux-view-ubuntu:tag-noble",
}
"""Images of this machine, each with the name in a registry that it answers to on the nodes."""
PREFIX = "usr/local"
VIEW_PREFIX = "opt/views/flux"
# What brokers of the embedded instance import; not what the operator does.
PACKAGES = ("pyzmq", "pluggy", "cffi", "pycparser")
BUNDLED = "pyzmq.libs"  # where the first of them looks for libraries, before it asks the system
MPI = ("lammps", "mpich")
EXAMPLES = "/lammps/share/lammps/"  # 185 MB of LAMMPS; what our examples read is used
USED = (f"{EXAMPLES}bench/POTENTIALS/", f"{EXAMPLES}bench/in.lj")


def build() -> Sequence[Image]:
    """Return all images; what has not changed since the last time comes from the cache."""
    cache = image_store.folder() / "layers"
    program = lookup.locate(lookup.PAUSE)["pause"]
    pause = layer(cache, "pause", [program], lambda: {"pause": Entry(source=program)})
    system = layer(cache, "system", userland.inputs(), userland.tree)
    inputs = python_tree.inputs(PACKAGES)
    python = layer(cache, "python", inputs, lambda: {**python_tree.interpreter(PREFIX), **packages()})
    sources = python_tree.project_inputs()
    project = layer(cache, "project", sources, lambda: python_tree.project(PREFIX))
    mpi = layer(cache, "lammps", python_tree.inputs(MPI), lammps)
    return [
        Image(PAUSE, [pause], ["/pause"]),
        stand_in(PLAIN, [system]),
        Image(EMBEDDED, [system, python, project]),
        stand_in(LAMMPS, [system, python, mpi, project]),
        stand_in(VIEW, view_layers()),
        *real(cache, [system, python, mpi]),
    ]


def view_layers() -> list[Layer]:
    """Return the layers of an image with the embedded instance where a view has Flux."""
    cache, inputs = image_store.folder() / "layers", python_tree.inputs(PACKAGES)
    system = layer(cache, "system", userland.inputs(), userland.tree)
    view = layer(cache, "view-interpreter", inputs, view_tree)
    sources = python_tree.project_inputs()
    return [system, view, layer(cache, "view-project", sources, lambda: python_tree.project(VIEW_PREFIX))]


def stand_in(name: str, layers: Sequence[Layer]) -> Image:
    """Return an image that has the name of one in a registry as well."""
    return Image(name, layers, aliases=[STAND_INS[name]])


def real(cache: Path, base: Sequence[Layer]) -> list[Image]:
    """Return the image with real Flux, if it is on PATH; the embedded instance is not in it."""
    flux = real_flux.find()
    if flux is None:
        return []
    own = layer(cache, "real-flux", real_flux.inputs(flux), lambda: real_flux.tree(flux))
    return [Image(REAL, [*base, own], path=f"{flux.path}:{PATH}")]


def packages() -> Tree:
    """Return what the embedded instance runs on, with the system's libraries that it loads."""
    found = python_tree.distributions(PREFIX, PACKAGES)
    return {**found, **libraries.at_home(python_tree.outside(found).values())}


def lammps() -> Tree:
    """Return LAMMPS and MPICH, without most of LAMMPS's examples."""
    found = {
        path: entry
        for path, entry in python_tree.distributions(PREFIX, MPI).items()
        if EXAMPLES not in path or any(used in path for used in USED)
    }
    return {**found, **libraries.at_home(python_tree.outside(found).values())}


def view_tree() -> Tree:
    """Return Python and its packages below the view's prefix, with all that they load but glibc."""
    found = python_tree.distributions(VIEW_PREFIX, PACKAGES)
    bundled = next(path.rpartition("/")[0] for path in found if f"/{BUNDLED}/" in path)
    loaded = python_tree.outside(found).items()
    return {
        **python_tree.self_contained(VIEW_PREFIX),
        **found,
        **{f"{bundled}/{name}": Entry(source=path.resolve()) for name, path in loaded},
        "opt/software": Entry(),
        "opt/view": Entry(target="views/flux"),
    }
