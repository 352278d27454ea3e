"""A disk that is full: requests are refused with words, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.records import JobFilter

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

MOUNT = 'mount -t tmpfs -o size=2M none "$1" && shift && exec "$@"'


def test_a_full_disk_is_stated_and_loses_nothing(embedded: Laboratory, tmp_path: Path) -> None:
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mounts need root on Linux")
    folder = tmp_path / "disk"
    folder.mkdir()
    program = [sys.executable, "-m", "tests.restful.faults.full_disk", str(folder), embedded.uri]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", MOUNT, "sh", str(folder), *program],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    status, retry, problem = found["refused"]
    assert (status, retry, problem["type"]) == (503, "2", "/problems/database-away")
    assert problem["detail"] == "the database cannot be used until somebody has looked after it"
    assert "has no room left: make some on its disk" in done.stderr
    assert found["while full"] == [200, 200]
    assert (found["again"], found["whole"]) == (201, ["ok", None])
    assert found["listed"] == found["expected"]
    with embedded.connect() as instance:
        names = Counter(job.name for job in instance.jobs.find(JobFilter(), 0) if job.name[:5] == "disk-")
    assert names == Counter(found["expected"])
