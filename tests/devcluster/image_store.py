"""The images of all nodes of all clusters, unpacked once, by containerd itself.

A store is what containerd keeps on its disk after images were imported. It is never written to again: a node
gets links to its layers and blobs, and copies of its two small databases. Stores live in the cache, named by
their images, and each is begun as a copy of the newest other, in which most layers are unpacked already. A
cluster gets one with further images where there is one: to unpack takes longer than its start. Of stores that
no cluster uses the newest are kept.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from tests.devcluster import building
from tests.devcluster.errors import ComponentError
from tests.devcluster.images import AnyImage, digest, locked
from tests.devcluster.images import prune as prune_layers
from tests.devcluster.lookup import Programs
from tests.devcluster.network import call, program

KEPT = 2  # stores without a cluster
DESCRIPTION = "images.json"  # of a store: its images, and the program that has unpacked them
METADATA = "io.containerd.metadata.v1.bolt/meta.db"
SNAPSHOTS = "io.containerd.snapshotter.v1.overlayfs"
BLOBS = "io.containerd.content.v1.content/blobs/sha256"
CONFIGURATION = """\
version = 3
root = "{root}"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime",
  "io.containerd.cri.v1.images", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.gc.v1.scheduler"]
  deletion_threshold = 0
  mutation_threshold = 0
"""
# In namespaces of its own: a tmpfs at /run, and every process ends with the first one. What no image has any
# more is removed at the end, by deleting a lease: before, it might be a layer that the next image has.
IMPORT = """
set -e
containerd=$1 ctr=$2 configuration=$3
shift 3
mount -t tmpfs store /run
"$containerd" --config "$configuration" &
tries=0
until "$ctr" version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] && kill -0 $!
    sleep 0.05
done
for image; do "$ctr" --namespace k8s.io images import --local --snapshotter overlayfs "$image"; done
lease=$("$ctr" --namespace k8s.io leases create)
"$ctr" --namespace k8s.io leases delete --sync "$lease"
kill $!
wait $! || :
"""


def folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Name the folder that holds layers and stores."""
    return building.cache_folder(environ).with_name("images")


def store(images: Sequence[AnyImage], programs: Programs) -> tuple[Path, BinaryIO]:
    """Return a store with these images, made now if there is none; and a file to keep open.

    For as long as that file is open in any process, the store is not removed.
    """
    wanted = contents(images)
    name = hashlib.sha256(repr((wanted, str(programs["containerd"]))).encode()).hexdigest()[:16]
    with locked(folder() / "stores"):
        target = with_all(wanted, programs["containerd"]) or folder() / f"store-{name}"
        if not target.is_dir():
            fill(target, images, programs)
        os.utime(target)
        lock_file = (target / "held").open("ab")
        fcntl.flock(lock_file, fcntl.LOCK_SH)
        prune(target)
    return target, lock_file


def contents(images: Sequence[AnyImage]) -> list[list[str]]:
    """Return what tells images apart: names and digest of each."""
    return sorted([image.name, *image.aliases, digest(image.manifest())] for image in images)


def with_all(wanted: Sequence[Sequence[str]], containerd: Path) -> Path | None:
    """Return the newest store of this containerd that has all of these images, and perhaps others."""
    for each in stores(folder()):
        described = each / DESCRIPTION
        found = json.loads(described.read_text()) if described.exists() else {}
        if found.get("containerd") == str(containerd) and all(image in found["images"] for image in wanted):
            return each
    return None


def fill(target: Path, images: Sequence[AnyImage], programs: Programs) -> None:
    """Make a store under a temporary name, then rename it."""
    building.report("unpacking images")
    prune_layers(target.parent / "layers")
    for leftover in target.parent.glob("*.new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f"{target.name}.new-", dir=target.parent))
    try:
        if others := stores(target.parent):
            copy(others[0] / "root", work / "root")
        (work / "containerd.toml").write_text(CONFIGURATION.format(root=work / "root"))
        archives = [work / f"{number}.tar" for number in range(len(images))]
        for image, archive in zip(images, archives, strict=True):
            image.write(archive)
        take(work, archives, programs)
        for archive in archives:
            archive.unlink()
        description = {"containerd": str(programs["containerd"]), "images": contents(images)}
        (work / DESCRIPTION).write_text(json.dumps(description))
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def take(work: Path, archives: Sequence[Path], programs: Programs) -> None:
    """Have containerd import what is in tar files."""
    spaces = ["--net", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc"]
    given = [programs["containerd"], programs["ctr"], work / "containerd.toml", *archives]
    done = subprocess.run(
        [program("unshare"), *spaces, program("sh"), "-c", IMPORT, "import", *given],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ComponentError(f"the images could not be unpacked: {done.stderr[-2000:]}")


def copy(root: Path, target: Path) -> None:
    """Copy a store's root: its files are linked, but for the databases, which containerd writes to."""
    call([program("cp"), "-al", str(root), str(target)])
    for database in root.rglob("*.db"):
        fresh = target / database.relative_to(root)
        fresh.unlink()
        shutil.copy2(database, fresh)


def stores(cache: Path) -> list[Path]:
    """List the whole stores, the newest first."""
    found = [path for path in cache.glob("store-*") if path.is_dir() and ".new-" not in path.name]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def prune(used: Path) -> None:
    """Remove stores that no cluster uses, but for the newest."""
    for old in [path for path in stores(used.parent) if path != used][KEPT:]:
        descriptor = os.open(old / "held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(old, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)


def give(stored: Path, root: Path) -> None:
    """Give a node's containerd the images of a store, as links: what it removes is its links alone."""
    source = stored / "root"
    for database in (METADATA, f"{SNAPSHOTS}/metadata.db"):
        (root / database).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / database, root / database)
    for folder in (BLOBS, f"{SNAPSHOTS}/snapshots"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        for entry in (source / folder).iterdir():
            (root / folder / entry.name).symlink_to(entry)
