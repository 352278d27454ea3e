"""A real KEDA sizes a MiniCluster on real nodes, as the example tells it to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import ControlPlane, until
from tests.devcluster.certificates import Pair, authority
from tests.devcluster.lookup import Programs
from tests.kubernetes import autoscalers, keda
from tests.kubernetes.autoscalers import RANGE, TWELVE
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
EXAMPLE = Path(__file__).parents[3] / "examples/autoscaling/keda.yaml"
COLLECTIONS = {
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "ScaledObject": "/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "TriggerAuthentication": "/apis/keda.sh/v1alpha1/namespaces/{}/triggerauthentications",
}


def test_keda_grows_it_to_four_and_it_shrinks_to_one(
    live: Live, nodes: ControlPlane, keda_programs: Programs, tmp_path: Path
) -> None:
    """With what the MiniCluster's Secret holds; all jobs complete, each once."""
    live = replace(live, name="scaling")
    ledger = Ledger.created(live, nodes, tmp_path / "ledger", **RANGE)
    hosts = {f"scaling-0.scaling.{live.namespace}.svc": live.pods.by_rank()[0]["status"]["podIP"]}
    with (
        keda.running(nodes, keda_programs, tmp_path, hosts),
        autoscalers.watching(nodes.api, live.namespace, live.name) as sizes,
    ):
        create(live, certificate(authority(tmp_path, "keda").issue("any", "keda")), *example(live))
        until(lambda: ready(live), "KEDA's word", SECONDS)
        ledger.submit(TWELVE)
        autoscalers.everywhere(ledger)
        assert ledger.balance() == {}
        assert ledger.written().total() == len(TWELVE)
        autoscalers.smallest(live)
        live.api.delete(scaled(live))  # KEDA has a finalizer on it, and then deletes its autoscaler
        until(lambda: not live.api.exists(scaled(live)), "KEDA to let go of it", SECONDS)
    assert (sizes.asked[0], max(sizes.asked), sizes.asked[-1]) == (1, 4, 1)
    assert sizes.reversals == 1, sizes.asked


def example(live: Live) -> list[dict[str, Any]]:
    """Return what the example has, for a MiniCluster in another namespace, and without a wait of minutes."""
    secrets = live.api.items(COLLECTIONS["Secret"].format(live.namespace))
    (keys,) = [name for each in secrets if (name := each["metadata"]["name"]).startswith("scaling-curve-")]
    text = EXAMPLE.read_text().replace("scaling-curve-0123456789ab", keys)
    text = text.replace(".default.svc", f".{live.namespace}.svc")
    text = text.replace("stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 0")
    return list(yaml.safe_load_all(text))


def certificate(own: Pair) -> dict[str, Any]:
    """Return the Secret with KEDA's own certificate, as `kubectl create secret tls` makes it."""
    files = {"tls.crt": own.certificate.read_text(), "tls.key": own.key.read_text()}
    metadata = {"name": "scaling-keda"}
    return {"kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "stringData": files}


def create(live: Live, *items: dict[str, Any]) -> None:
    """Create objects."""
    for item in items:
        live.api.create(COLLECTIONS[item["kind"]].format(live.namespace), item)


def scaled(live: Live) -> str:
    """Name the ScaledObject."""
    return f"{COLLECTIONS['ScaledObject'].format(live.namespace)}/{live.name}"


def ready(live: Live) -> bool:
    """Whether KEDA says that the ScaledObject is in order."""
    item = live.api.get(scaled(live))
    found = item.get("status", {}).get("conditions") or []
    return any((each["type"], each["status"]) == ("Ready", "True") for each in found)
