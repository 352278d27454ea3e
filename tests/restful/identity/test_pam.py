"""The real PAM, with a service and accounts of the test's own in a mount namespace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.restful.identity import pam_program
from tests.restful.identity.pam_program import ASKED, PASSWORD

if TYPE_CHECKING:
    from pathlib import Path


def _sha512(password: str) -> str:
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-salt", "c2FsdA", "-stdin"],
        input=password, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_pam_knows_who_may_log_in(tmp_path: Path) -> None:
    """With the right password of an account that is neither locked nor expired."""
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if probe.returncode or os.geteuid():
        pytest.skip("mounts need root on Linux")
    pam_program.write(tmp_path, _sha512(PASSWORD))
    done = subprocess.run(
        ["unshare", "-m", sys.executable, "-m", "tests.restful.identity.pam_program", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert dict(zip(ASKED, json.loads(done.stdout), strict=True)) == {
        each: each == ("pam-good", PASSWORD) for each in ASKED
    }
