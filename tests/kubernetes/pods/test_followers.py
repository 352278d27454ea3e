"""Two MiniClusters on real nodes, of which one joins the other's lead: each is ready with what is its own."""

from dataclasses import replace

import pytest

from broker_config import curve
from tests.devcluster import ControlPlane, until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
SLOTS = [{"name": "far", "size": 1}]


def test_followers_are_ready_and_their_lead_counts_its_own(live: Live, nodes: ControlPlane) -> None:
    near, far = replace(live, name="near"), replace(live, name="far")
    certificate = curve.render("near", curve.generate())
    flux = {"curveCert": certificate}
    near.create(size=1, interactive=True, flux={**flux, "bursting": {"clusters": SLOTS}})
    near.joined(1)
    address = near.pods.by_rank()[0]["status"]["podIP"]
    lead = {"address": address, "name": "near", "size": 1}
    far.create(size=1, flux={**flux, "bursting": {"leadBroker": lead, "clusters": SLOTS}})
    far.until(BrokersReady=("True", "Following"), Running=("True", "PodsRunning"))
    assert (far.status["phase"], far.status["readyBrokers"]) == ("Running", 1)

    minicluster = CommandLine(nodes.kubeconfig, live.namespace)

    def free() -> str:
        asked = ("flux", "resource", "list", "-s", "free", "-no", "{nodelist}")
        return minicluster.process("shell", "near", "--", *asked).stdout

    until(lambda: "far-0" in free(), "the follower at its lead", SECONDS)
    ready = near.until(BrokersReady=("True", "AllJoined"))
    assert near.status["readyBrokers"] == 1
    assert "1 of 1 broker has joined" in str(ready)
    kinds = {"services": "/api/v1", "poddisruptionbudgets": "/apis/policy/v1"}
    for plural, root in kinds.items():
        found = live.api.get(f"{root}/namespaces/{live.namespace}/{plural}")["items"]
        assert not [each for each in found if each["metadata"]["name"].startswith("far")]
