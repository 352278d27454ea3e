"""Jobs submitted through cut connections to a service that dies: each is there once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.restful.faults import service_process
from tests.restful.faults.cutting_proxy import Part
from tests.restful.faults.forking_service import STEPS
from tests.restful.faults.submits import submit_all

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory

KEYS = 20
pytestmark = pytest.mark.timeout(300)


def test_each_job_runs_once(embedded: Laboratory, tmp_path: Path) -> None:
    with service_process.running(tmp_path, embedded.uri) as service:
        found = submit_all(service, tmp_path / "ledger", KEYS)
    assert found.runs == found.listed == Counter(f"key-{number}" for number in range(KEYS))
    assert set(found.cuts) == set(Part)
    assert set(+found.deaths) == set(STEPS)
