"""A service in the cluster reaches a lead by its API alone, with the operator's keys for bursts."""

from __future__ import annotations

import asyncio
import base64
import secrets
from typing import TYPE_CHECKING, Any

import pytest

from burst.clusters.connections import LeadConnections
from burst.clusters.served_clusters import ServedClusters
from minicluster.instance.errors import RequestRefused
from minicluster.kube_client.access import Access
from minicluster.lead_client.purpose_keys import BURST, PurposeKeys
from minicluster.plan.constants import BURST_FINALIZER, LEAD_API_PORT
from minicluster.plan.objects import names
from tests.kubernetes.restful import rights

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from tests.devcluster import ControlPlane
    from tests.kubernetes.live import Live
    from tests.kubernetes.operators import Operator

FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 2}]},
}
SMALL = {"resources": {"limits": {"cpu": "1"}}}
GROUP = ["flux-framework.org"]
RULES = (
    {"apiGroups": GROUP, "resources": ["miniclusters"], "verbs": ["get", "list", "patch"]},
    {"apiGroups": GROUP, "resources": ["miniclusters/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
)


class OperatorKeys:
    """The keys that this operator publishes for bursts."""

    trouble = ""

    def __init__(self, operator: Operator) -> None:
        self._keys = operator.keys.purpose(BURST)
        self.refusals = 0

    def current(self) -> tuple[PurposeKeys, ...]:
        return (self._keys,)

    def refused(self) -> None:
        self.refusals += 1


def test_a_lead_gives_its_queue_and_its_certificate(
    live: Live, nodes: ControlPlane, nodes_operator: Operator
) -> None:
    """With no right to read Secrets there, and none to run commands in pods."""
    bursting: dict[str, Any] = {"dryRun": False, "expose": "none"}
    live.create(container=SMALL, size=1, flux=FLUX, bursting=bursting).joined(1)
    user = f"burst-{secrets.token_hex(3)}"
    rights.grant(nodes, user, "", "burst", *RULES)
    pod = live.pods.running(0)
    keys = OperatorKeys(nodes_operator)

    def endpoint(_: MiniCluster) -> tuple[str, int]:
        return pod["status"]["podIP"], LEAD_API_PORT

    access = Access(str(nodes.user(user).kubeconfig))
    source = ServedClusters(access, keys, (live.namespace,), endpoint)
    [found] = source.clusters()
    joined = found.join("burst-0")
    secret = f"/api/v1/namespaces/{live.namespace}/secrets/{names.curve_secret(found.document)}"
    assert joined.certificate == base64.b64decode(nodes.api.get(secret)["data"]["curve.cert"]).decode()
    assert (joined.address, joined.port) == (pod["status"]["podIP"], found.document.spec.network.port)
    assert live.item["metadata"]["finalizers"] == [BURST_FINALIZER]

    connections = LeadConnections()
    connections.serve(source.clusters())
    try:
        opened = connections.opened(found.uid)
        assert opened.layout.slots["burst-0"].size == 2
        view = asyncio.run(connections.lead(found.uid).view("burst-0", "aaaaaaaaaa"))
        assert (view.online, view.started, view.instance) == (frozenset(), False, opened.identity)
        assert opened.waiting.read() == []
        with pytest.raises(RequestRefused, match=r"a token for burst is not good for helper\.dump"):
            opened.instance.life.dump("/tmp/dump")
    finally:
        connections.close()
    assert keys.refusals == 0
    live.delete()
    [ending] = source.clusters()
    assert ending.is_ending
    assert live.pods.running(0)["metadata"]["uid"] == pod["metadata"]["uid"], (
        "its lead is there for its bursts"
    )
    source.publish({})
    assert source.clusters() == []
