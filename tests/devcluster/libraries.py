"""The shared libraries that programs of this machine need, so that copies of them run elsewhere."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.devcluster.errors import ComponentError
from tests.devcluster.images import Entry, executable

LINE = re.compile(r"^\s+(?:(\S+) => )?(/\S+) \(0x", re.MULTILINE)
# What belongs to the C library: it must be that of the image, and nothing else.
GLIBC = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|mvec|nss_files|nss_dns))\.so\.\d+$"
)
MAGIC = b"\x7fELF"


def needed(programs: Iterable[Path]) -> dict[str, Path]:
    """Return the libraries that programs and libraries load, by the name they are asked for."""
    argv = ["ldd", *map(str, programs)]
    if len(argv) == 1:
        return {}
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: some file is linked statically
        raise ComponentError(f"`ldd` failed: {done.stderr.strip()}")
    return {name or Path(path).name: Path(path) for name, path in LINE.findall(done.stdout)}


def of_glibc(name: str) -> bool:
    """Return whether a library is a part of the C library."""
    return GLIBC.match(name) is not None


def whole_glibc(loaded: Mapping[str, Path]) -> list[Path]:
    """Return all of the C library, as images have it, from the part that some program loads."""
    folder = loaded["libc.so.6"].parent
    return [loaded["libc.so.6"], *(path for path in sorted(folder.iterdir()) if of_glibc(path.name))]


def is_elf(file: Path) -> bool:
    """Return whether a file is a program or a library."""
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def moved(file: Path, searched: str, instead: str) -> Entry | None:
    """Return a program that searches another folder for libraries; None if it does not search this one.

    The folder's name is overwritten: the new one may not be longer.
    """
    old, new = f"\0{searched}\0".encode(), f"\0{instead}\0".encode()
    content = file.read_bytes()
    if old not in content or len(new) > len(old):
        return None
    return Entry(content=content.replace(old, new.ljust(len(old), b"\0")), mode=executable(file))


def at_home(libraries: Iterable[Path]) -> dict[str, Entry]:
    """Return libraries at the machine's own paths, which the loader searches."""
    found = {}
    for library in libraries:
        folder = str(library.parent.resolve()).lstrip("/")
        found[f"{folder}/{library.name}"] = Entry(source=library.resolve())
    return found
