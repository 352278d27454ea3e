"""Our queue policies on real Flux: what is in the ConfigMap for them."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from broker_config import curve
from minicluster import flux_zips
from minicluster.plan import FreshKeys, Observed, Site, plan


def config_map(make: Any, now: Any, flux: dict[str, Any]) -> dict[str, Any]:
    objects = plan(make({"flux": flux}), Observed(), Site(), FreshKeys(curve.generate()), now).objects
    return next(each for each in objects if each["kind"] == "ConfigMap")


@pytest.mark.parametrize("policy", ["minicluster/fcfs", "easy", "water-filling"])
def test_a_policy_of_ours_brings_the_scheduler(make, now, policy):
    """Also on a local machine, where Flux may be installed."""
    item = config_map(make, now, {"scheduler": {"queuePolicy": policy}})
    assert b64decode(item["binaryData"][flux_zips.SCHEDULER_ZIP]) == flux_zips.pack_scheduler()
    assert flux_zips.scheduler_files().items() <= item["data"].items()


@pytest.mark.parametrize(
    "flux",
    [
        pytest.param({}, id="nothing said"),
        pytest.param({"scheduler": {"queuePolicy": "hybrid"}}, id="Fluxion's"),
        pytest.param({"scheduler": {"queuePolicy": "minicluster/easy", "simple": True}}, id="simple"),
        pytest.param(
            {
                "scheduler": {"queuePolicy": "minicluster/easy"},
                "brokerConfig": '[bootstrap]\nhosts = [{host = "mc-[0-3]"}]\ncurve_cert = "/x"\n',
            },
            id="a broker.toml of the user's own",
        ),
    ],
)
def test_others_do_not_carry_it(make, now, flux):
    item = config_map(make, now, flux)
    assert "binaryData" not in item
    assert not flux_zips.scheduler_files().keys() & item["data"].keys()
