"""A Python for images: the one that runs the tests, copied so that it runs below any prefix.

Python finds its own library beside its program. The libraries that it loads are found there as well, where
the program was built to search a folder of its own for them (pyenv, the runners of CI): that folder's name is
written over. Where it was not (a distribution's), they are put where this machine has them.
"""

import importlib.metadata
import posixpath
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from tests.devcluster import libraries
from tests.devcluster.errors import ComponentError
from tests.devcluster.images import Entry, Tree, executable

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PROJECT = Path(__file__).resolve().parents[2]
# Parts of the library that no program of ours uses, and modules with libraries that are left out.
LEFT_OUT = {"test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "venv"}
LEFT_OUT |= {"site-packages", "dist-packages"}
NO_MODULES = (
    "readline.",
    "_curses",
    "_tkinter.",
    "_gdbm.",
    "_dbm.",
    "nis.",
    "_test",
    "_xx",
    "xx",
    "_ctypes_test.",
)
SITE = "dist-packages" if "deb_system" in sysconfig.get_scheme_names() else "site-packages"


# The Python of a view whose program does not search a folder of its own for libraries.
WRAPPER = """\
#!/bin/sh
LD_LIBRARY_PATH={libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec {program} "$@"
"""


def self_contained(prefix: str) -> Tree:
    """Return an interpreter that finds all its libraries below its prefix, in any image."""
    found = dict(interpreter(prefix))
    home, program = f"{prefix}/lib/", f"{prefix}/bin/{VERSION}"
    outside = [path for path in found if not path.startswith(f"{prefix}/")]
    if outside:
        for path in outside:
            found[f"{home}{path.rpartition('/')[2]}"] = found.pop(path)
        found[f"{program}.program"] = found[program]
        text = WRAPPER.format(libraries=f"/{home.rstrip('/')}", program=f"/{program}.program")
        found[program] = Entry(content=text.encode())
    return found


def interpreter(prefix: str) -> Tree:
    """Return Python without any package, below a prefix without a slash at its beginning."""
    program = Path(sys.base_prefix, "bin", VERSION).resolve()
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    home = f"{prefix}/lib/{VERSION}"
    found = {f"{home}/{path.relative_to(library)}": entry(path) for path in files(library)}
    modules = {path: name for name, one in found.items() if (path := one.source) and path.suffix == ".so"}
    found[f"{prefix}/bin/{VERSION}"] = Entry(source=program)
    searched = f"{sys.base_prefix}/lib"
    loaded = libraries.needed([program, *modules])
    for path, name in {program: f"{prefix}/bin/{VERSION}", **modules}.items():
        instead = "$ORIGIN/../lib" if path == program else "$ORIGIN/../.."
        if changed := libraries.moved(path, searched, instead):
            found[name] = changed
    relocated = found[f"{prefix}/bin/{VERSION}"].source is None
    for name, path in loaded.items():
        if not libraries.of_glibc(name):
            entries = {f"{prefix}/lib/{name}": Entry(source=path.resolve())}
            found |= entries if relocated else libraries.at_home([path])
    for name in ("python3", "python"):
        found[f"{prefix}/bin/{name}"] = Entry(target=VERSION)
    return found


def files(library: Path) -> Iterable[Path]:
    """List the files of Python's library that are taken; compiled ones too, but no optimized ones."""
    for path in sorted(library.rglob("*")):
        parts = path.relative_to(library).parts
        unused = LEFT_OUT.intersection(parts) or parts[0].startswith("config-") or ".opt-" in path.name
        module = parts[0] == "lib-dynload" and path.name.startswith(NO_MODULES)
        if path.is_file() and not unused and not module:
            yield path


def entry(path: Path) -> Entry:
    """Copy a file."""
    return Entry(source=path.resolve(), mode=executable(path))


def distributions(prefix: str, names: Iterable[str]) -> Tree:
    """Return installed packages from this environment."""
    return {path: one for name in names for path, one in distribution(prefix, name).items()}


def distribution(prefix: str, name: str) -> dict[str, Entry]:
    """Return one installed package: its scripts call the Python of the prefix."""
    found = {}
    site = f"{prefix}/lib/{VERSION}/{SITE}"
    for file in importlib.metadata.distribution(name).files or ():
        source = Path(str(file.locate()))
        if source.is_file() and ".opt-" not in source.name:
            path = f"{site}/{file}".replace(f"{site}/../../../", f"{prefix}/")
            found[posixpath.normpath(path)] = script(prefix, source) if "/bin/" in path else entry(source)
    return found


def script(prefix: str, source: Path) -> Entry:
    """Copy a program; a script in Python gets the prefix's Python as its interpreter."""
    first, newline, rest = source.read_bytes().partition(b"\n")
    if first.startswith(b"#!") and b"python" in first:
        content = f"#!/{prefix}/bin/{VERSION}".encode() + newline + rest
        return Entry(content=content)
    return entry(source)


def outside(tree: Tree) -> Mapping[str, Path]:
    """Return the libraries that packages expect of the system, without those of the C library."""
    own = {one.source for one in tree.values() if one.source is not None}
    programs = [path for path in own if libraries.is_elf(path)]
    loaded = libraries.needed(sorted(programs))
    return {
        name: path
        for name, path in loaded.items()
        if path.resolve() not in own and not libraries.of_glibc(name)
    }


def inputs(packages: Iterable[str]) -> list[object]:
    """Return what a Python with installed packages is made of."""
    program = Path(sys.base_prefix, "bin", VERSION).resolve()
    return [sys.version, program, *(importlib.metadata.version(name) for name in packages)]


def project_inputs() -> list[object]:
    """Return what this project is made of: its sources' content."""
    settings = PROJECT / "pyproject.toml"
    packages = tomllib.loads(settings.read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    digest = sha256(settings.read_bytes())
    for package in packages:
        for path in sorted((PROJECT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(PROJECT)}\n".encode() + path.read_bytes())
    return [*inputs(()), digest.hexdigest()]


def project(prefix: str) -> Tree:
    """Return this project: its wheel, unpacked and compiled, and the `flux` of its embedded instance."""
    site = f"{prefix}/lib/{VERSION}/{SITE}"
    with tempfile.TemporaryDirectory() as work:
        unpacked = unpack(Path(work), Path(work, "unpacked"))
        found = {
            f"{site}/{path.relative_to(unpacked)}": Entry(content=path.read_bytes(), mode=0o644)
            for path in sorted(unpacked.rglob("*"))
            if path.is_file()
        }
    return {**found, f"{prefix}/bin/flux": Entry(content=flux(f"/{prefix}/bin/{VERSION}", f"/{site}"))}


def flux(python: str, site: str) -> bytes:
    """Write the program `flux` as the launcher does on a machine, for another Python."""
    from minicluster.embedded.broker import launcher  # noqa: PLC0415 - `down` and `status` work without it

    return launcher.script(python, [site]).encode()


def unpack(work: Path, target: Path) -> Path:
    """Build the wheel, unpack and compile it; what is compiled does not depend on the time."""
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run([*wheel, "--no-index", "--disable-pip-version-check", "--wheel-dir", str(work), str(PROJECT)])
    with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
        archive.extractall(target)
    compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    run([*compiling, "-s", str(target), str(target)])
    return target


def run(argv: list[str]) -> None:
    """Run a step of the build; raise ComponentError with its output."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ComponentError(f"`{' '.join(argv)}` failed: {(done.stderr or done.stdout).strip()}")
