"""What real Flux's lead gets to route jobs, where a service manages the bursts."""

from __future__ import annotations

import tomllib
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


def test_the_lead_api_serves_a_service_for_bursts_there_alone(managed: Any, make: Any) -> None:
    """The certificate too, where brokers join."""

    def lead_api(cluster: Any) -> dict[str, Any]:
        site = Site(lead_api=True, curve_path="/run/curve.cert")
        found = next(each for each in render(cluster, site) if "broker.toml" in each.get("data", {}))
        table = tomllib.loads(found["data"]["broker.toml"])["minicluster"]["modules"]["door"]
        return {name: table[name] for name in ("bursting", "curve-certificate") if name in table}

    slots = {"bursting": {"clusters": [{"name": "burst-0", "size": 2}]}}
    assert lead_api(managed) == {"bursting": True, "curve-certificate": "/run/curve.cert"}
    assert lead_api(make({"bursting": {"join": False}, "flux": slots})) == {"bursting": True}
    assert lead_api(make({"flux": slots})) == {}
