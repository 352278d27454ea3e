"""Where programs come from: $KUBEBUILDER_ASSETS, else PATH, else built once from the pinned Go modules here.

Programs that must fit each other come from one source: a folder with a kube-apiserver alone is passed over.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster import building
from tests.devcluster.errors import MissingProgramsError

SOURCES = Path(__file__).with_name("programs")
ASSETS = "KUBEBUILDER_ASSETS"
KUBERNETES_VERSION = (
    "1.36"  # built where the caller does not choose; `programs/kubernetes-<version>` are those there are
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Programs of one version; `extras` are built with them, but a source may lack them."""

    name: str
    needed: tuple[str, ...]
    extras: tuple[str, ...] = ()
    version: str | None = None
    ours: bool = False  # built always: another version, or another program of that name, would not do

    @property
    def sources(self) -> Path:
        """The folder with the Go module that builds them."""
        return SOURCES / self.name


Programs = Mapping[str, Path]
ETCD = Suite("etcd", ("etcd",))
KWOK = Suite("kwok", ("kwok",))
HELM = Suite("helm", ("helm",))
CONTAINERD = Suite("containerd", ("containerd", "containerd-shim-runc-v2", "ctr"), ours=True)
COREDNS = Suite("coredns", ("coredns",), ours=True)
PAUSE = Suite("pause", ("pause",), ours=True)
METRICS_CLIENT = Suite("metrics-client", ("metrics-client",), ours=True)
METRICS_SERVER = Suite("metrics-server", ("metrics-server",), ours=True)
KEDA = Suite("keda", ("operator", "adapter"), ours=True)
NODE_PROGRAMS = ("kubelet", "kube-proxy")


def kubernetes(version: str | None = None, *, nodes: bool = False) -> Suite:
    """Return the suite of exactly this minor version (`1.31`); None: of the programs that are found.

    With nodes their programs are needed too; without, a source may lack them.
    """
    needed: tuple[str, ...] = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    extras: tuple[str, ...] = ("kubectl",)
    if nodes:
        needed += NODE_PROGRAMS
    elif version in (None, KUBERNETES_VERSION):  # the others are built without
        extras += NODE_PROGRAMS
    return Suite(f"kubernetes-{version or KUBERNETES_VERSION}", needed, extras, version)


def locate(suite: Suite, environ: Mapping[str, str] = os.environ) -> Programs:
    """Return the absolute paths of a suite's programs; raise MissingProgramsError with what was tried."""
    tried = []
    variables = (("$" + ASSETS, environ.get(ASSETS)), ("PATH", environ.get("PATH")))
    for variable, search in () if suite.ours else variables:
        found, missing = search_all(suite, search)
        if not missing:
            return found
        tried.append(f"{variable} {'is not set' if not search else 'has no ' + ', '.join(missing)}")
    try:
        return building.build(suite.sources, (*suite.needed, *suite.extras), environ)
    except MissingProgramsError as error:
        raise MissingProgramsError(f"{suite.name}: {'; '.join([*tried, str(error)])}") from error


def search_all(suite: Suite, search: str | None) -> tuple[Programs, list[str]]:
    """Look for a suite in a list of folders as PATH has it; return what is there and what is missing."""
    paths = {name: shutil.which(name, path=search or os.devnull) for name in (*suite.needed, *suite.extras)}
    found = {name: Path(path).absolute() for name, path in paths.items() if path}
    missing = [name for name in suite.needed if name not in found]
    if not missing and suite.version is not None and minor(found[suite.needed[0]]) != suite.version:
        missing = [f"{suite.needed[0]} of {suite.version}"]
    return found, missing


def minor(program: Path) -> str | None:
    """Ask a Kubernetes program for its minor version: `Kubernetes v1.36.3` is 1.36."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"v(\d+\.\d+)\.", output)
    return match[1] if match else None
