"""The directories of running clusters: one for each cluster, private to its owner.

<root>                     $XDG_RUNTIME_DIR/minicluster, else <tmp>/minicluster-<uid>
└── <cluster>              0700
    ├── state.json         the cluster and its supervisor (see records.py)
    ├── document.yaml      the MiniCluster as it was started, for services on this machine
    ├── bursts.json        0600, its bursts, where a burst service has any (see burst_file.py)
    ├── control            the supervisor's socket
    ├── etc/               broker.toml, R, start.sh …: the ConfigMap
    ├── curve.cert         0400, the Secret
    ├── bin/flux           the embedded engine's command, where no real Flux is used
    ├── r/<rank>/          a broker's run directory: sockets, its state
    ├── log/<pod>.log      what a pod wrote
    ├── v/<volume>/        volumes that are directories
    ├── t/                 TMPDIR of everything in the cluster
    └── exit               the lead's termination message
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.local import ownership
from minicluster.local.errors import StateDirectoryError
from minicluster.local.ownership import ROOT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET_PATH_LIMIT = 107
"""Bytes of a UNIX socket's path, the closing NUL left out (unix(7))."""
DEEPEST_SOCKET = "r/99999/flux/local-0"
"""The longest path of a socket below a cluster's directory."""
NAME_LENGTH = 20


@dataclass(frozen=True, slots=True)
class ClusterDirectory:
    """The paths of one cluster."""

    path: Path

    @property
    def state(self) -> Path:
        """The state file."""
        return self.path / "state.json"

    @property
    def document(self) -> Path:
        """The MiniCluster as it was started, as JSON, which is YAML too."""
        return self.path / "document.yaml"

    @property
    def bursts(self) -> Path:
        """What a burst service has of the cluster's bursts."""
        return self.path / "bursts.json"

    @property
    def control(self) -> Path:
        """The supervisor's socket."""
        return self.path / "control"

    @property
    def config(self) -> Path:
        """The ConfigMap's files."""
        return self.path / "etc"

    @property
    def curve(self) -> Path:
        """The CURVE certificate, shared by the brokers."""
        return self.path / "curve.cert"

    @property
    def programs(self) -> Path:
        """The directory of the embedded engine's `flux`."""
        return self.path / "bin"

    @property
    def logs(self) -> Path:
        """What the pods wrote."""
        return self.path / "log"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the pods."""
        return self.path / "t"

    @property
    def volumes(self) -> Path:
        """Volumes that live as long as the cluster."""
        return self.path / "v"

    @property
    def termination_log(self) -> Path:
        """The exit code of the main command, written by the start script."""
        return self.path / "exit"

    def run(self, rank: int) -> Path:
        """The run directory of a broker."""
        return self.path / "r" / str(rank)

    def socket(self, rank: int = 0) -> Path:
        """The socket that a broker takes requests on."""
        return self.run(rank) / "local"

    def log(self, pod: str) -> Path:
        """The log of a pod."""
        return self.logs / f"{pod}.log"

    @property
    def uri(self) -> str:
        """The lead broker's address."""
        return f"local://{self.socket()}"


def root() -> Path:
    """Return the directory of all clusters of this user, made if absent. Raises StateDirectoryError."""
    path = _chosen_root()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StateDirectoryError(_cannot(path, error)) from error
    ownership.is_private_directory(path)
    return path


def create(name: str, *, unique: bool) -> ClusterDirectory:
    """Make a cluster's directory; `unique` adds a suffix, so that one name can run several times.

    Raises StateDirectoryError, FileExistsError where it is there already.
    """
    base = root()
    _check_length(base)
    path = base / short_name(name)
    try:
        if unique:
            path = Path(tempfile.mkdtemp(prefix=f"{short_name(name)}.", dir=base))
        else:
            path.mkdir(mode=0o700)
        cluster = ClusterDirectory(path)
        _furnish(cluster)
    except FileExistsError:
        raise
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise StateDirectoryError(_cannot(base, error)) from error
    return cluster


def find(name: str) -> ClusterDirectory:
    """Return the directory of a persistent cluster with this name, which need not exist.

    Raises StateDirectoryError where it may be another user's.
    """
    base = _chosen_root()
    cluster = ClusterDirectory(base / short_name(name))
    if ownership.is_private_directory(base):
        ownership.is_private_directory(cluster.path)
    return cluster


def all_clusters() -> Iterator[ClusterDirectory]:
    """Yield every cluster directory there is. Raises StateDirectoryError where one may be another user's."""
    base = _chosen_root()
    entries = sorted(base.iterdir()) if ownership.is_private_directory(base) else ()
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink() and ownership.is_private_directory(entry):
            yield ClusterDirectory(entry)


def remove(cluster: ClusterDirectory) -> None:
    """Remove a cluster's directory, also where a program removed its own permissions from parts of it."""
    for _ in range(5):  # a program that is being killed may still write
        shutil.rmtree(cluster.path, onerror=_make_removable)
        if not cluster.path.exists():
            return


def short_name(name: str) -> str:
    """Return a directory name of bounded length: a socket's path holds 107 bytes."""
    if len(name) <= NAME_LENGTH:
        return name
    return f"{name[: NAME_LENGTH - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _furnish(cluster: ClusterDirectory) -> None:
    for directory in (cluster.config, cluster.logs, cluster.temporary, cluster.volumes):
        directory.mkdir(mode=0o700)


def _chosen_root() -> Path:
    chosen = os.environ.get(ROOT_VARIABLE)
    if chosen:
        return Path(chosen)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_own(Path(runtime)):
        return Path(runtime) / "minicluster"
    return Path(tempfile.gettempdir()) / f"minicluster-{os.geteuid()}"


def _is_own(runtime: Path) -> bool:
    """Whether it is this user's runtime directory: after `su` the variable still names the other user's."""
    try:
        return runtime.is_dir() and runtime.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _check_length(base: Path) -> None:
    longest = len(os.fsencode(base)) + 2 + NAME_LENGTH + 9 + len(DEEPEST_SOCKET)
    if longest > SOCKET_PATH_LIMIT:
        raise StateDirectoryError(
            f"state directory {base}: the path is too long for sockets"
            f" ({longest} of at most {SOCKET_PATH_LIMIT} bytes); name a shorter one in {ROOT_VARIABLE}"
        )


def _cannot(path: Path, error: OSError) -> str:
    reasons = {errno.EROFS: "the file system is read-only", errno.ENOSPC: "no space left on the file system"}
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return f"state directory {path}: cannot be written: {reason}; name another one in {ROOT_VARIABLE}"


def _make_removable(_function: object, path: str, _error: object) -> None:
    parent = Path(path).parent
    try:
        parent.chmod(0o700)
        entry = Path(path)
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(0o700)
        else:
            entry.unlink()
    except OSError:
        return  # gone, or tried again by the caller
