"""What nodes need of the machine itself: root on Linux, and programs of its distribution."""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.devcluster import debian
from tests.devcluster.building import report
from tests.devcluster.errors import MissingProgramsError

# Program, and the package of Debian and its descendants that has it.
PROGRAMS = {
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}
PLUGINS = ("bridge", "host-local", "portmap")
PLUGIN_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
MIN_WATCHES = 1024
PLUGIN_PACKAGE = "containernetworking-plugins"


def require(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the network plug-ins; raise MissingProgramsError where there cannot be nodes.

    Under CI=true what is missing is installed, where there is apt.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        raise MissingProgramsError("nodes need root on Linux (namespaces, mounts, control groups)")
    debian.require(missing, "nodes need", environ)
    return next(folder for folder in PLUGIN_FOLDERS if has_plugins(folder))


def allow_watches() -> None:
    """Raise what this machine allows a user in watched files: a node's programs take 9 of usually 128.

    That stays so: who else relies on it by then cannot be known. Where it may not be set, fewer nodes fit.
    """
    if int(WATCHES.read_text()) < MIN_WATCHES:
        with contextlib.suppress(OSError):
            WATCHES.write_text(str(MIN_WATCHES))
            report(f"fs.inotify.max_user_instances is now {MIN_WATCHES}, for the nodes' programs")


def missing() -> list[str]:
    """Name the packages with a program that is missing."""
    found = debian.lacking(PROGRAMS)
    if not any(map(has_plugins, PLUGIN_FOLDERS)):
        found.add(PLUGIN_PACKAGE)
    return sorted(found)


def has_plugins(folder: Path) -> bool:
    """Return whether a folder has the plug-ins."""
    return all((folder / name).exists() for name in PLUGINS)
