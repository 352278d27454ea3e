"""buildah, which builds images without a daemon and without a registry, on a base of Debian's packages.

Its store is in the cache, where a step that is the same as before is found. It runs in a mount namespace of
its own: what it has mounted is gone when it is killed.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster import building, debian
from tests.devcluster.errors import ComponentError, MissingProgramsError
from tests.devcluster.network import program

PROGRAMS = {"buildah": "buildah", "mmdebstrap": "mmdebstrap", "unshare": "util-linux"}
"""Programs, and the package of Debian and its descendants that has each."""
PACKAGES = ("ca-certificates", "python3", "python3-venv")
"""What the base has besides the least of a system: as much as the Dockerfiles use of a public image."""
LEFT_OUT = [f"path-exclude=/usr/share/{part}/*" for part in ("doc", "locale", "man")]
LEFT_OUT += ["path-include=/usr/share/doc/*/copyright"]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Mounted while a step runs: a machine may reach its package index through an authority of its own."""
EPOCH = 1580601600
"""The time of all files, as in the wheels that hatchling builds: two builds of one source are the same."""
MAX_LAYERS = 300
"""Of a store that is used again; a source that changed adds about six, 40 MB."""
POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'
STORAGE = """\
[storage]
driver = "{driver}"
graphroot = "{folder}/layers"
runroot = "{folder}/run"
"""


@dataclass(frozen=True, slots=True)
class Builder:
    """buildah with a store of its own."""

    folder: Path
    environ: Mapping[str, str]

    def build(self, dockerfile: Path, context: Path, name: str, *options: str) -> None:
        """Build an image from a Dockerfile; images that it is made from are those of this store."""
        mounted = [f"--volume={CERTIFICATES}:{CERTIFICATES}:ro"] if CERTIFICATES.exists() else []
        ours = ["--layers", "--pull-never", f"--timestamp={EPOCH}", f"--tag={name}", *mounted]
        argv = self._argv("bud", *ours, *options, f"--file={dockerfile}", str(context))
        building.run(argv, name, dockerfile.parent, self._environment(), "buildah bud")

    def has(self, name: str) -> bool:
        """Return whether an image of this name is in the store."""
        return bool(self.run("images", "--quiet", "--filter", f"reference={name}"))

    def take(self, archive: Path, name: str) -> None:
        """Take the image of an archive into the store."""
        self.run("tag", self.run("pull", "--quiet", f"oci-archive:{archive}"), name)

    def give(self, name: str, archive: Path) -> None:
        """Write an image as an archive: whole, or not at all."""
        partial = archive.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        self.run("push", "--quiet", name, f"oci-archive:{partial}:{name}")
        partial.rename(archive)

    def execute(self, name: str, *command: str) -> str:
        """Run a command in an image, as the image's user; return what it writes."""
        container = self.run("from", "--quiet", "--pull-never", name)
        try:
            return self.run("run", container, "--", *command)
        finally:
            self.run("rm", container)

    def run(self, *words: str) -> str:
        """Run a command of buildah's; raise ComponentError with its output."""
        argv = self._argv(*words)
        done = subprocess.run(argv, env=self._environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise ComponentError(f"`buildah {' '.join(words)}` failed: {done.stderr.strip()[-2000:]}")
        return done.stdout.strip()

    def _argv(self, command: str, *words: str) -> list[str]:
        trusting = ["--signature-policy", str(self.folder / "policy.json")]
        needed = trusting if command in {"bud", "pull", "push", "from"} else []
        return [program("unshare"), "--mount", "--", program("buildah"), command, *needed, *words]

    def _environment(self) -> dict[str, str]:
        """Return the environment: containers are chroots, which work without further rights."""
        configuration = str(self.folder / "storage.conf")
        own = {"BUILDAH_ISOLATION": "chroot", "CONTAINERS_STORAGE_CONF": configuration}
        return {**{name: text for name, text in self.environ.items() if name != "STORAGE_DRIVER"}, **own}


def require(environ: Mapping[str, str] = os.environ) -> None:
    """Raise MissingProgramsError where no images can be built; under CI=true what is missing is installed."""
    if os.geteuid() != 0:
        raise MissingProgramsError("building images needs root (mounts, changes of the root directory)")
    debian.require(missing, "building images needs", environ)


def missing() -> list[str]:
    """Name the packages with a program that is missing."""
    return sorted(debian.lacking(PROGRAMS))


@contextlib.contextmanager
def opened(folder: Path, environ: Mapping[str, str] = os.environ) -> Iterator[Builder]:
    """Lend a builder whose store is in a folder; one that has grown large is begun anew.

    So is one in which a build was cut off: what it has of that layer may be less than its index tells.
    """
    driver = environ.get("STORAGE_DRIVER", "overlay")  # vfs, where nothing can be laid over a folder
    in_use = folder / "in-use"
    if in_use.exists() or len(list(folder.glob(f"layers/{driver}/*"))) > MAX_LAYERS:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.json").write_text(POLICY)
    (folder / "storage.conf").write_text(STORAGE.format(driver=driver, folder=folder))
    in_use.touch()
    try:
        yield Builder(folder, environ)
    except ComponentError:  # a command that ended by itself has left the store as it should be
        in_use.unlink()
        raise
    in_use.unlink()


def base_name() -> str:
    """Return the name of the base: what it is made with is in it."""
    return f"localhost/base:{hashlib.sha256(repr(bootstrap()).encode()).hexdigest()[:16]}"


def provide_base(builder: Builder) -> None:
    """Have Debian with Python in the store; its packages are fetched once."""
    image = base_name()
    folder = builder.folder.with_name(image.rpartition("/")[2].replace(":", "-"))
    if not folder.is_dir():
        fetch(folder, builder.environ)
    if not builder.has(image):
        builder.build(folder / "Dockerfile", folder, image)


def bootstrap() -> list[str]:
    """Return the command that makes the base's files, of this machine's release of its distribution."""
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "stable")
    chosen = [f"--include={','.join(PACKAGES)}", *(f"--dpkgopt={option}" for option in LEFT_OUT)]
    return ["mmdebstrap", "--quiet", "--variant=minbase", *chosen, suite, "base.tar"]


def fetch(folder: Path, environ: Mapping[str, str]) -> None:
    """Make the base's files, and a Dockerfile that has nothing else."""
    partial = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
    times = {**environ, "SOURCE_DATE_EPOCH": str(EPOCH)}
    building.run(bootstrap(), "a base of Debian's packages", partial, times, "mmdebstrap")
    partial.rename(folder)
