"""The helper under Flux's Python, with bindings that know no broker."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.errors import InstanceGone
from minicluster.instance.links.flux import FluxEndpoint

if TYPE_CHECKING:
    from pathlib import Path

BINDINGS = """\
import sys

class Flux:
    def __init__(self, uri):
        raise OSError(2, f"no broker at {uri}, {'' in sys.path}")
"""


@pytest.fixture
def flux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A `flux` whose Python has these bindings alone, in a directory that shadows a module of everybody's."""
    package = tmp_path / "bindings" / "flux"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BINDINGS)
    (package / "constants.py").touch()
    command = tmp_path / "flux"
    command.write_text(
        f'#!/bin/sh\nshift\nunset PYTHONSAFEPATH\nPYTHONPATH={package.parent} exec {sys.executable} "$@"\n'
    )
    command.chmod(0o755)
    (tmp_path / "json.py").write_text("raise AssertionError('whose is this?')\n")
    monkeypatch.chdir(tmp_path)
    return os.fspath(command)


def test_it_runs_from_where_we_are_installed(flux: str) -> None:
    """And imports nothing of the working directory."""
    with pytest.raises(InstanceGone, match="no broker at local:///there, False"):
        FluxEndpoint("local:///there", flux)
