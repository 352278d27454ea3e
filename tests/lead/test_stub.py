"""Real Flux's module, without Flux: whatever becomes of the door, the module itself goes on."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from minicluster import flux_zips

if TYPE_CHECKING:
    from pathlib import Path

STUB = "minicluster-door.py"
MODULE = "minicluster/lead_server/flux_module.py"
HANDLE = """\
import os, runpy, sys
class Handle:
    def attr_get(self, name): return 'local:///nowhere'
    def conf_get(self, name, default): return default
    def reactor_run(self): sys.stdin.read()
"""


def run(tmp_path: Path, source: str, more: str = "", logged: str = "") -> tuple[str, list[str]]:
    """Run the module with a door of this text; it is unloaded once a line with `logged` is on its stderr."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in (f"{MODULE.rsplit('/', depth)[0]}/__init__.py" for depth in (1, 2)):
            archive.writestr(name, "")
        archive.writestr(MODULE, source)
    (tmp_path / flux_zips.ZIP).write_bytes(packed.getvalue())
    stub = tmp_path / STUB
    stub.write_text(flux_zips.module_files()[STUB].replace("STOP_TIMEOUT = 3.0", "STOP_TIMEOUT = 0.2"))
    program = f"{HANDLE}{more}\nrunpy.run_path({str(stub)!r})['mod_main'](Handle())\nprint('runs')\n"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as module:  # fmt: skip
        assert module.stderr is not None
        lines = []
        while logged and not (lines and logged in lines[-1]):
            lines.append(module.stderr.readline())
            assert lines[-1], "it has ended"
        out, err = module.communicate(timeout=30)
        assert module.returncode == 0
    return out, [line.strip() for line in [*lines, *err.splitlines()]]


def test_a_lead_server_that_dies_is_started_again(tmp_path: Path) -> None:
    """After a pause that grows; one that ends with 0 is over."""
    source = f"""\
import pathlib
def main(uri, settings):
    deaths = pathlib.Path({str(tmp_path / "deaths")!r})
    count = len(deaths.read_text()) if deaths.exists() else 0
    deaths.write_text('x' * (count + 1))
    if count == 2:
        print(uri, settings, file=__import__('sys').stderr)
    return [3, 4, 0][count]
"""
    assert run(tmp_path, source, logged="local:///nowhere") == (
        "runs\n",
        [
            "minicluster-door: the lead server ended with 3; it is started again in 0.25 s",
            "minicluster-door: the lead server ended with 4; it is started again in 0.5 s",
            "local:///nowhere {}",
        ],
    )


def test_a_lead_server_is_closed_with_the_module(tmp_path: Path) -> None:
    """Its stdin ends, and it may say so."""
    source = """\
import sys
def main(uri, settings):
    print('opened', file=sys.stderr, flush=True)
    sys.stdin.read()
    print('closed', file=sys.stderr, flush=True)
    return 0
"""
    assert run(tmp_path, source, logged="opened") == ("runs\n", ["opened", "closed"])


def test_a_lead_server_that_does_not_close_is_killed(tmp_path: Path) -> None:
    """It would keep its port, and here its stderr, whose end `run` waits for."""
    source = """\
import sys, time
def main(uri, settings):
    print('opened', file=sys.stderr, flush=True)
    time.sleep(1000)
"""
    assert run(tmp_path, source, logged="opened") == ("runs\n", ["opened"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        pytest.param(
            "def fail(*_): raise OSError(5, 'Input/output error')\nHandle.attr_get = fail",
            "the instance runs without the lead API: OSError: [Errno 5] Input/output error",
            id="no attribute",
        ),
        pytest.param(
            "def fail(*_): raise OSError(5, 'Input/output error')\nHandle.conf_get = fail",
            "the instance runs without the lead API: OSError: [Errno 5] Input/output error",
            id="no configuration",
        ),
        pytest.param(
            "def fail(*_): raise KeyboardInterrupt('now')\nHandle.reactor_run = fail",
            "the module ends: KeyboardInterrupt: now",
            id="interrupted",
        ),
    ],
)
def test_nothing_is_raised(tmp_path: Path, more: str, words: str) -> None:
    """A module that fails would end the instance."""
    out, lines = run(tmp_path, "def main(uri, settings): return 0", more)
    assert out == "runs\n"
    assert lines == [f"minicluster-door: {words}"]


def test_a_lead_server_that_cannot_be_imported(tmp_path: Path) -> None:
    """It is as one that died."""
    out, lines = run(tmp_path, "raise ImportError('a defect')", logged="again in 0.25 s")
    assert out == "runs\n"
    assert lines[-2:] == [
        "ImportError: a defect",
        "minicluster-door: the lead server ended with 1; it is started again in 0.25 s",
    ]
