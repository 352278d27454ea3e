"""Whose a process is, told from outside."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from minicluster.embedded.execution.processes import MARKER, belongs

if TYPE_CHECKING:
    from pathlib import Path


def test_a_process_that_becomes_another_program_is_still_its_jobs(tmp_path: Path) -> None:
    """In the moment of an exec it shows no environment."""
    program = tmp_path / "again"
    program.write_text(f"#!/bin/sh\nexec {program}\n")
    program.chmod(0o755)
    environment = {**os.environ, MARKER: "a/b"}
    with subprocess.Popen([program], env=environment, start_new_session=True) as process:
        try:
            assert all(belongs(process.pid, "a/b", ()) for _ in range(3000))
            assert belongs(process.pid, "a", ())
            assert not belongs(process.pid, "b", ())
        finally:
            process.kill()
    assert not belongs(process.pid, "a/b", ())
