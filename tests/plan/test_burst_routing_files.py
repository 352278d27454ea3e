"""What real Flux's lead gets to route jobs, where a service manages the bursts."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from minicluster import flux_zips
from minicluster.plan import Site, render


def configuration(cluster: Any) -> dict[str, Any]:
    (found,) = (each for each in render(cluster, Site()) if each["kind"] == "ConfigMap")
    return found


@pytest.fixture
def managed(make: Any) -> Any:
    """A MiniCluster whose bursts are managed."""
    return make({"bursting": {}, "flux": {"bursting": {"clusters": [{"name": "burst-0", "size": 2}]}}})


def test_the_frobnicator_is_beside_its_code(managed: Any) -> None:
    item = configuration(managed)
    assert item["data"][flux_zips.BURST_FILE] == flux_zips.burst_files()[flux_zips.BURST_FILE]
    assert b64decode(item["binaryData"][flux_zips.ZIP]) == flux_zips.pack()


def test_others_have_neither(make: Any) -> None:
    item = configuration(make())
    assert (flux_zips.BURST_FILE in item["data"], "binaryData" in item) == (False, False)
