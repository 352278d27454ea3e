"""The Python client of flux-restful-api as it is on PyPI, in an environment of its own, and its own tests.

The environment is made once, in the cache of other programs that tests need; its name has the digest of
requirements.txt, so a change there makes another one.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster.building import building_lock, cache_folder, report
from tests.devcluster.errors import MissingProgramsError

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
TESTS = "flux_restful_client/tests/test_api.py"
SECRET = "a secret of the client's own choosing"
INSTALL_TIMEOUT = 300.0
RUN_TIMEOUT = 110.0


@dataclass(frozen=True, slots=True)
class ClientRun:
    """What became of the client's tests."""

    code: int
    output: str


def installed(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the environment's Python. Raises MissingProgramsError where it cannot be made here."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder(environ) / f"flux-restful-client-{digest}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    with building_lock(folder, "flux-restful-client"):
        if not (folder / "ready").exists():
            report("installing flux-restful-client")
            _run([sys.executable, "-m", "venv", "--clear", str(folder)], environ)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
            _run([str(python), *install, "-r", str(REQUIREMENTS)], environ)
            (folder / "ready").touch()
    return python


def _run(argv: list[str], environ: Mapping[str, str]) -> None:
    done = subprocess.run(
        argv, env=dict(environ), capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False
    )
    if done.returncode:
        raise MissingProgramsError(f"`{' '.join(argv)}` failed: {done.stderr.strip()[-500:]}")


def run_tests(python: Path, home: Path, url: str, user: str = "", password: str = "") -> ClientRun:
    """Run the client's own tests against a service, unchanged, from where they were installed."""
    packages = next((python.parent.parent / "lib").glob("python*/site-packages"))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "FLUX_RESTFUL_HOST": url,
        "FLUX_USER": user,
        "FLUX_TOKEN": password,
        "FLUX_SECRET_KEY": SECRET,
    }
    argv = [
        str(python),
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(home),
        str(packages / TESTS),
    ]
    done = subprocess.run(
        argv, cwd=home, env=environment, capture_output=True, text=True, timeout=RUN_TIMEOUT, check=False
    )
    return ClientRun(done.returncode, done.stdout + done.stderr)
