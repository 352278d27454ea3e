"""The files that real Flux's lead needs of this project: zips and a few texts, for a ConfigMap.

The texts are keys of `data`, the zips of `binaryData`. A ConfigMap's files are in one directory, so the start
script links those that Flux wants in directories of their own. The scheduler has a zip of its own: only a
MiniCluster with one of our policies has it. `rooms` lists which rooms are in which zip.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.flux_zips.rooms import FENCE, LEAD, SCHEDULER
from minicluster.lead_server import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from minicluster.flux_zips.rooms import Zip

ZIP = LEAD.name
SCHEDULER_ZIP = SCHEDULER.name
BURST_FILE = "minicluster-burst.py"
"""The frobnicator of MiniClusters whose bursts are managed."""
EXTENSIONS = f"minicluster/lead_server/{extensions.LIST}"
"""In the lead's zip: the names of the extensions that add routes to the lead API."""
_ROOT = Path(__file__).parents[2]
_SIDE_FILES = Path(__file__).with_name("side_files")
_DATE = (1980, 1, 1, 0, 0, 0)
_FORMER = """\
from {module} import main

__all__ = ["main"]
"""


def module_files() -> dict[str, str]:
    """Return the texts beside the lead's zip, by the names that the start script expects."""
    return {
        "minicluster-door.py": _side_file("lead_server.py"),
        "minicluster-modprobe.toml": _side_file("lead_server_modprobe.toml"),
        "minicluster-rc1.py": _side_file("lead_server_rc1.py"),
    }


def scheduler_files() -> dict[str, str]:
    """Return the texts beside the scheduler's zip, by the names that the start script expects."""
    return {
        "minicluster-sched.py": _side_file("scheduler.py"),
        "minicluster-sched-modprobe.toml": _side_file("scheduler_modprobe.toml"),
        "minicluster-sched-rc1.py": _side_file("scheduler_rc1.py"),
        "minicluster-malleable.lua": _side_file("malleable.lua"),
        "minicluster-placement.lua": _side_file("placement.lua"),
    }


def burst_files() -> dict[str, str]:
    """Return the text beside the lead's zip that routes jobs, for `[ingest.frobnicator]` of broker.toml."""
    return {BURST_FILE: _side_file("burst.py")}


@cache
def pack() -> bytes:
    """Return the lead's zip: the same bytes for the same sources and extensions."""
    listed = "".join(f"{name}\n" for name in extensions.named())
    return _zipped(LEAD, {**_sources(LEAD), **_extensions()}, {EXTENSIONS: listed})


@cache
def pack_fence() -> bytes:
    """Return the part of the lead's zip that followers need: the same bytes for the same sources."""
    return _zipped(FENCE, _sources(FENCE), {})


@cache
def pack_scheduler() -> bytes:
    """Return the scheduler's zip: the same bytes for the same sources."""
    return _zipped(SCHEDULER, _sources(SCHEDULER), {})


def scheduler_paths() -> list[Path]:
    """Return our own files in the scheduler's zip."""
    return sorted(_ours(SCHEDULER).values())


@cache
def _side_file(name: str) -> str:
    return (_SIDE_FILES / name).read_text(encoding="utf-8")


class FluxFiles(NamedTuple):
    """The files that real Flux's lead needs, each made when it is called for."""

    lead_texts: Callable[[], Mapping[str, str]]
    """The texts beside the lead's zip, by their names."""
    lead_zip: Callable[[], bytes]
    scheduler_texts: Callable[[], Mapping[str, str]]
    """The texts beside the scheduler's zip, by their names."""
    scheduler_zip: Callable[[], bytes]
    burst_texts: Callable[[], Mapping[str, str]] = burst_files
    """The texts for routing, beside the lead's zip."""


INSTALLED = FluxFiles(module_files, pack, scheduler_files, pack_scheduler, burst_files)
"""From the sources of this environment, with the extensions that are installed in it."""


def _sources(packed: Zip) -> dict[str, Path]:
    """Return the files of a zip's rooms and libraries, by their names in it."""
    found = _ours(packed)
    for library in packed.libraries:
        package = Path(import_module(library).__file__ or "").parent
        found |= {f"{library}/{path.name}": path for path in package.glob("*.py")}
    return found


def _ours(packed: Zip) -> dict[str, Path]:
    return {_name(path): path for room in packed.rooms for path in _room(room)}


def _room(name: str) -> Iterator[Path]:
    """Yield the modules of a room, and the `__init__` of each package around it."""
    path = _ROOT.joinpath(*name.split("."))
    yield from path.glob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    for around in path.relative_to(_ROOT).parents[:-1]:
        yield _ROOT / around / "__init__.py"


def _extensions() -> dict[str, Path]:
    """Return the files that extensions name in PACKED."""
    modules = (import_module(name.partition(":")[0]) for name in extensions.named())
    patterns = {pattern for module in modules for pattern in module.PACKED}
    return {_name(path): path for pattern in patterns for path in _ROOT.glob(pattern)}


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def _zipped(packed: Zip, files: dict[str, Path], texts: dict[str, str]) -> bytes:
    former = {f"{name.replace('.', '/')}.py": module for name, module in packed.former.items()}
    for name, module in former.items():
        texts[name] = _FORMER.format(module=module)
        around = Path(name).parent / "__init__.py"
        files.setdefault(around.as_posix(), _ROOT / around)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in sorted(files.items()):
            archive.writestr(_entry(name), path.read_bytes())
        for name, text in sorted(texts.items()):
            archive.writestr(_entry(name), text)
    return written.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o444 << 16
    return entry
