"""Output through a real service that dies, of an instance that is restarted from a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.laboratory import Laboratory
from tests.restful.faults import service_process
from tests.restful.faults.streams import files_of, read_all

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)


def test_each_byte_is_read_once(embedded: Laboratory, short_folder: Path, tmp_path: Path) -> None:
    lab = Laboratory("embedded", embedded.flux, short_folder / "streams", reached="embedded")
    try:
        lab.start()
        with service_process.running(tmp_path, lab.uri) as service:
            reading, behind = read_all(lab, service, lines=8_000, kills=4, restarts=1)
        assert {task: bytes(data) for task, data in reading.written.items()} == files_of(lab)
    finally:
        lab.stop()
    assert behind == 204
