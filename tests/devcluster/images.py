"""Container images without a registry and without a builder: layers made of the machine's own files.

A layer is a table of paths; it becomes a tar file in the cache, by the digest of what it was made of. An
image is a list of layers and what to run.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import platform
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
OCI = "application/vnd.oci.image"
INDEX = "index.json"
KEPT_SECONDS = 3 * 24 * 3600.0
MAKERS = ("images", "libraries", "node_images", "python_tree", "real_flux", "userland")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is at a path: a file of the machine, a text, or a link's target; a directory if none of these."""

    source: Path | None = None
    content: bytes | None = None
    target: str | None = None
    mode: int = 0o755
    owner: int = 0


Tree = Mapping[str, Entry]  # by path, without a slash at its beginning


@dataclass(frozen=True, slots=True)
class Layer:
    """A tar file and the digest of its content."""

    file: Path
    digest: str

    @property
    def size(self) -> int:
        """The file's length."""
        return self.file.stat().st_size


class AnyImage(Protocol):
    """An image for a node's store: made here of layers, or built from a Dockerfile."""

    @property
    def name(self) -> str:
        """Its name, with a tag."""

    @property
    def aliases(self) -> Sequence[str]:
        """Further names, in full."""

    def manifest(self) -> bytes:
        """Return its manifest; the digest identifies the image."""

    def write(self, file: Path) -> None:
        """Write it as one tar file."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a node's store gets: a name with a tag, layers from the lowest on, and perhaps a command."""

    name: str
    layers: Sequence[Layer]
    command: Sequence[str] = ()
    path: str = PATH
    aliases: Sequence[str] = ()
    """Further names, in full: of images in registries for which this one stands in."""

    def config(self) -> bytes:
        """Return the image's configuration."""
        started = {"Cmd": list(self.command)} if self.command else {}
        return document(
            {
                "architecture": architecture(),
                "os": "linux",
                "config": {"Env": [f"PATH={self.path}"], "WorkingDir": "/", **started},
                "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in self.layers]},
                "history": [{"created_by": "minicluster tests"} for _ in self.layers],
            }
        )

    def manifest(self) -> bytes:
        """Return the image's manifest; its digest identifies the image."""
        config = self.config()
        kind = f"{OCI}.layer.v1.tar"
        layers = [{"mediaType": kind, "digest": layer.digest, "size": layer.size} for layer in self.layers]
        return document(
            {
                "schemaVersion": 2,
                "mediaType": f"{OCI}.manifest.v1+json",
                "config": {
                    "mediaType": f"{OCI}.config.v1+json",
                    "digest": digest(config),
                    "size": len(config),
                },
                "layers": layers,
            }
        )

    def write(self, file: Path) -> None:
        """Write the image as one tar file, in the layout of the Open Container Initiative."""
        manifest, config = self.manifest(), self.config()
        with tarfile.open(file, "w") as archive:
            add(archive, "oci-layout", Entry(content=document({"imageLayoutVersion": "1.0.0"})))
            add(archive, INDEX, Entry(content=index(manifest, (self.name, *self.aliases))))
            for blob in (manifest, config):
                add(archive, blob_name(digest(blob)), Entry(content=blob))
            for layer in {layer.digest: layer for layer in self.layers}.values():
                add(archive, blob_name(layer.digest), Entry(source=layer.file, mode=0o644))


def index(manifest: bytes, names: Iterable[str]) -> bytes:
    """Return the index of a layout that has one image, under several names."""
    entries = [
        {
            "mediaType": f"{OCI}.manifest.v1+json",
            "digest": digest(manifest),
            "size": len(manifest),
            "platform": {"architecture": architecture(), "os": "linux"},
            "annotations": {"io.containerd.image.name": name},
        }
        for name in names
    ]
    return document({"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": entries})


def layer(cache: Path, name: str, inputs: Sequence[object], make: Callable[[], Tree]) -> Layer:
    """Return a layer, from the cache if one of this name was made of the same inputs before.

    Inputs are all that the entries depend on; a path among them stands for its file's size and time. The text
    of the modules that make layers is one of them.
    """
    known = [state(one) for one in (*inputs, *(Path(__file__).with_name(f"{name}.py") for name in MAKERS))]
    file = cache / f"{name}-{hashlib.sha256(repr(known).encode()).hexdigest()[:16]}.tar"
    note = file.with_suffix(".digest")
    with locked(file):
        if not note.exists():
            pack(file, make())
            note.write_text(digest_of_file(file))
        os.utime(note)
    return Layer(file, note.read_text())


def prune(cache: Path) -> None:
    """Remove layers that were not used for a long time."""
    for note in cache.glob("*.digest"):
        file = note.with_suffix(".tar")
        with locked(file):
            if time.time() - note.stat().st_mtime > KEPT_SECONDS:
                note.unlink()
                file.unlink()


def state(thing: object) -> object:
    """Return a text that identifies an input."""
    if not isinstance(thing, Path):
        return thing
    found = thing.stat()
    return (str(thing), found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one process at a time make a file of the cache."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_name(f"{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def with_parents(tree: Tree) -> dict[str, Entry]:
    """Add the directories that lead to a tree's entries."""
    parents = {str(parent) for path in tree for parent in PurePosixPath(path).parents}
    return {**dict.fromkeys(parents - {"."}, Entry()), **tree}


def pack(file: Path, tree: Tree) -> None:
    """Write a tree as a tar file: owned by root, in the order of the paths."""
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
        for path, entry in sorted(with_parents(tree).items()):
            add(archive, path, entry)


def add(archive: tarfile.TarFile, path: str, entry: Entry) -> None:
    """Write one entry; files of the machine keep their time, as compiled Python refers to it."""
    found = tarfile.TarInfo(path)
    found.mode = entry.mode
    found.uid = found.gid = entry.owner
    if entry.source is not None:
        status = entry.source.stat()
        found.size, found.mtime = status.st_size, int(status.st_mtime)
        with entry.source.open("rb") as stream:
            archive.addfile(found, stream)
    elif entry.content is not None:
        found.size = len(entry.content)
        archive.addfile(found, io.BytesIO(entry.content))
    else:
        found.type = tarfile.DIRTYPE if entry.target is None else tarfile.SYMTYPE
        found.linkname = entry.target or ""
        archive.addfile(found)


def document(value: Mapping[str, Any]) -> bytes:
    """Write JSON, always in the same way."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def architecture() -> str:
    """Name this machine's kind as images do."""
    return ARCHITECTURES.get(platform.machine(), platform.machine())


def blob_name(name: str) -> str:
    """Return where a blob is in a layout."""
    return f"blobs/{name.replace(':', '/')}"


def digest(content: bytes) -> str:
    """Name a content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def digest_of_file(file: Path) -> str:
    """Name a file's content."""
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def executable(path: Path) -> int:
    """Return the mode for a copy of a file: everybody may read it, and run it if its owner may."""
    return 0o755 if os.access(path, os.X_OK) else 0o644
