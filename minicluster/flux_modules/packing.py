"""What real Flux's lead needs of this package, as the plan puts it into a ConfigMap: zips and a few texts.

The texts are keys of `data`, the zips of `binaryData`; a ConfigMap's files lie flat in one directory, so the
start script links the ones that Flux wants in directories of their own. The scheduler has a zip of its own:
only a MiniCluster that names one of our policies carries it.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from importlib import import_module
from pathlib import Path

from minicluster.flux_modules.door import extensions

ZIP = "flux_modules.zip"
_ROOT = Path(__file__).parents[2]
# Only what runs under Flux's own Python; the rest needs ours.
_FILES = (
    "broker_config/__init__.py",
    "broker_config/errors.py",
    "broker_config/hostlist.py",
    "broker_config/idset.py",
    "minicluster/__init__.py",
    "minicluster/embedded/__init__.py",
    "minicluster/embedded/jobid.py",
    "minicluster/flux_modules/__init__.py",
    "minicluster/flux_modules/door/*.py",
    "minicluster/flux_modules/saving/*.py",
    "minicluster/flux_modules/signed.py",
    "minicluster/instance/__init__.py",
    "minicluster/instance/flux_helper.py",
    "minicluster/within/*.py",
)
_NOT = {"embedded_command.py", "embedded_link.py", "process.py", "stub.py"}
EXTENSIONS = f"minicluster/flux_modules/door/{extensions.LIST}"
"""In the zip: the names of what others serve at the door."""
_STUB = Path(__file__).with_name("door") / "stub.py"
_DATE = (1980, 1, 1, 0, 0, 0)

_MODPROBE = """\
# Only this MiniCluster's own lead has the table: a Flux instance that a job starts has no door.
[[modules]]
name = "minicluster-door"
ranks = "0"
needs-config = ["minicluster.modules.door"]
"""
_RC1 = """\
# Flux's rc1 loads what it knows; this adds the lead's door.
def setup(context):
    context.load_modules(["minicluster-door"])
"""


SCHEDULER_ZIP = "flux_scheduler.zip"
_SCHEDULER_STUB = Path(__file__).with_name("scheduler") / "stub.py"
_SHELL_PLUGIN = Path(__file__).with_name("scheduler") / "malleable.lua"
_SCHEDULER_FILES = (
    "broker_config/__init__.py",
    "broker_config/errors.py",
    "broker_config/hostlist.py",
    "broker_config/idset.py",
    "minicluster/__init__.py",
    "minicluster/embedded/__init__.py",
    "minicluster/embedded/durations.py",
    "minicluster/embedded/elastic.py",
    "minicluster/embedded/endpoints.py",
    "minicluster/embedded/errors.py",
    "minicluster/embedded/jobid.py",
    "minicluster/embedded/jobspec.py",
    "minicluster/embedded/pool.py",
    "minicluster/embedded/resizing.py",
    "minicluster/embedded/resource_set.py",
    "minicluster/embedded/starters.py",
    "minicluster/flux_modules/__init__.py",
    "minicluster/flux_modules/scheduler/*.py",
    "minicluster/flux_modules/signed.py",
    "minicluster/malleable/__init__.py",
    "minicluster/malleable/credentials.py",
    "minicluster/malleable/errors.py",
    "minicluster/malleable/events.py",
    "minicluster/malleable/exchange.py",
    "minicluster/malleable/lines.py",
    "minicluster/malleable/messages.py",
    "minicluster/malleable/session.py",
    "queue_policies/*.py",
)
_SCHEDULER_MODPROBE = """\
# Behind all others, so that a Flux instance that a job starts has Flux's own: see minicluster-sched-rc1.py.
[[modules]]
name = "minicluster-sched"
provides = ["sched", "feasibility"]
after = ["job-manager", "resource"]
requires = ["job-manager", "resource"]
ranks = "0"
priority = 10
needs-config = ["minicluster.flux-scheduler"]
"""
_SCHEDULER_RC1 = """\
# Before Flux's own schedulers where broker.toml says so, and before Fluxion where it says `always`.
def setup(context):
    when = context.conf_get("minicluster.flux-scheduler")
    fluxion = "sched-fluxion-qmanager" in context.modprobe.taskdb
    if when == "always" or (when and not fluxion):
        context.set_alternative("sched", "minicluster-sched")
"""


def scheduler_files() -> dict[str, str]:
    """Return the texts beside the scheduler's zip, by the names that the start script expects."""
    return {
        "minicluster-sched.py": _SCHEDULER_STUB.read_text(encoding="utf-8"),
        "minicluster-sched-modprobe.toml": _SCHEDULER_MODPROBE,
        "minicluster-sched-rc1.py": _SCHEDULER_RC1,
        "minicluster-malleable.lua": _SHELL_PLUGIN.read_text(encoding="utf-8"),
    }


@cache
def pack_scheduler() -> bytes:
    """Return the scheduler's zip. pluggy, by which policies are found, comes from this environment."""
    pluggy = Path(import_module("pluggy").__file__ or "").parent
    found = {f"pluggy/{path.name}": path for path in pluggy.glob("*.py")}
    return _zipped(dict(sorted({**found, **{_name(path): path for path in scheduler_paths()}}.items())), {})


def scheduler_paths() -> list[Path]:
    """Return our own files in the scheduler's zip."""
    found = {path for pattern in _SCHEDULER_FILES for path in _ROOT.glob(pattern)}
    return sorted(path for path in found if path != _SCHEDULER_STUB)


def module_files() -> dict[str, str]:
    """Return the texts by the names that the start script expects beside the zip."""
    return {
        "minicluster-door.py": _stub(),
        "minicluster-modprobe.toml": _MODPROBE,
        "minicluster-rc1.py": _RC1,
    }


@cache
def _stub() -> str:
    return _STUB.read_text(encoding="utf-8")


@cache
def pack() -> bytes:
    """Return the zip: the same bytes for the same sources."""
    listed = "".join(f"{name}\n" for name in extensions.named())
    return _zipped({_name(path): path for path in packed_paths()}, {EXTENSIONS: listed})


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def _zipped(files: dict[str, Path], texts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in files.items():
            archive.writestr(_entry(name), path.read_bytes())
        for name, text in texts.items():
            archive.writestr(_entry(name), text)
    return packed.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o444 << 16
    return entry


def packed_paths() -> list[Path]:
    """Return the files that go into the zip, in its order; extensions name theirs in PACKED."""
    modules = (import_module(name.partition(":")[0]) for name in extensions.named())
    patterns = (*_FILES, *(pattern for module in modules for pattern in module.PACKED))
    found = {path for pattern in patterns for path in _ROOT.glob(pattern)}
    return sorted(path for path in found if path.name not in _NOT)
