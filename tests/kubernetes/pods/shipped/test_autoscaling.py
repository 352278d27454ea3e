"""A real autoscaler sizes a MiniCluster on real nodes: jobs that wait make it grow, and none is lost.

It has its numbers from the adapter in the chart's pod.
"""

import base64
import contextlib
import http.client
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from minicluster.lead_client import key_store
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS
from minicluster.plan import lead_dns_name
from minicluster.plan.constants import LEAD_API_PORT
from tests.devcluster import ControlPlane, until
from tests.devcluster.release import NAMESPACE, Release
from tests.kubernetes import adapters, autoscalers
from tests.kubernetes.autoscalers import HPAS, METRIC, RANGE, TWELVE, Sizes, everywhere, hpa, smallest
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def keys(release: Release, nodes: ControlPlane) -> LeadAuthority:
    """The keys for leads that the chart's operators have made; the chart's adapter serves."""
    for name in adapters.APIS:
        adapters.wait_available(nodes.api, name)
    secret = nodes.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{key_store.SECRET}")
    files = {name: base64.b64decode(text).decode() for name, text in secret["data"].items()}
    return LeadAuthority.load(files)


@contextlib.contextmanager
def alone(live: Live, nodes: ControlPlane, folder: Path, **spec: Any) -> Iterator[tuple[Ledger, Sizes]]:
    """Have a MiniCluster of one broker, of at most four, with a ledger; its sizes are followed."""
    ledger = Ledger.created(live, nodes, folder / "ledger", **RANGE, **spec)
    with autoscalers.watching(nodes.api, live.namespace) as sizes:
        yield ledger, sizes


def autoscale(live: Live, how: str) -> None:
    """Have the size follow the queue from now on, and not wait for minutes before it shrinks."""
    if how == "document":
        live.change(autoscaling={"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}})
    else:
        live.api.create(HPAS.format(live.namespace), hpa("External", most=4))


def scrape(live: Live, keys: LeadAuthority) -> dict[str, float]:
    """Read the lead's metrics without labels as Prometheus does, by its own parser."""
    uid, address = live.item["metadata"]["uid"], live.pods.by_rank()[0]["status"]["podIP"]
    metrics = keys.purpose(METRICS)
    connection = http.client.HTTPSConnection(address, LEAD_API_PORT, timeout=SECONDS)
    plain = socket.create_connection((address, LEAD_API_PORT), SECONDS)
    connection.sock = metrics.trust().wrap_socket(plain, server_hostname=lead_dns_name(uid))
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {metrics.token(uid)}"})
        text = connection.getresponse().read().decode()
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name: sample.value for sample in found if not sample.labels}


@pytest.mark.parametrize("how", ["document", "external"])
def test_twelve_jobs_grow_it_to_four_and_it_shrinks_to_one(
    live: Live, keys: LeadAuthority, nodes: ControlPlane, tmp_path: Path, how: str
) -> None:
    """All jobs complete, each once, the last on the highest rank: what leaves waits for it.

    By the autoscaler that the document asks for, and by one on external metrics, written by hand.
    """
    with alone(live, nodes, tmp_path) as (ledger, sizes):
        autoscale(live, how)
        ledger.submit(TWELVE)
        longest = everywhere(ledger)[3]
        until(lambda: scrape(live, keys).get(METRIC) == 4, "that to be told", SECONDS)
        hold_file = ledger.hold(longest)
        ledger.release()
        until(lambda: live.item["spec"]["size"] == 1, "the autoscaler to ask for one", SECONDS)
        until(
            lambda: "shrinking to 1 pods: waiting for the jobs on rank 3" in live.message("Resizing"),
            "that to be said",
            SECONDS,
        )
        assert set(ledger.running().values()) == {longest}
        assert live.pods.by_rank().keys() == {0, 1, 2, 3}
        hold_file.unlink()
        assert ledger.balance() == {}
        assert ledger.written().total() == len(TWELVE)
        smallest(live)
    assert (sizes.asked[0], max(sizes.asked), sizes.asked[-1]) == (1, 4, 1)
    assert sizes.reversals == 1, sizes.asked


def test_while_the_lead_is_away_the_size_stays(
    live: Live, keys: LeadAuthority, nodes: ControlPlane, tmp_path: Path
) -> None:
    """It is killed amid growth; when it is back, with its queue, growth goes on."""
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    flux = {"container": {"disable": True}, "stateVolume": {"hostPath": str(state)}}
    with alone(live, nodes, tmp_path, flux=flux) as (ledger, sizes):
        ledger.submit(TWELVE)
        uid = live.pods.by_rank()[0]["metadata"]["uid"]
        processes = live.pods.processes(nodes, 0)
        autoscale(live, "document")
        until(lambda: live.item["spec"]["size"] == 4, "the autoscaler to ask for four", SECONDS)
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        until(
            lambda: autoscalers.active(live.api, live.namespace) == "False",
            "the autoscaler to notice",
            SECONDS,
        )
        live.pods.replaced(0, uid)
        live.joined(4)
        until(
            lambda: autoscalers.active(live.api, live.namespace) == "True", "the autoscaler to go on", SECONDS
        )
        everywhere(ledger)
        failed = ledger.balance()
        assert 1 <= len(failed) <= 4
        assert ledger.never_ended(failed)
        assert ledger.written().total() == len(TWELVE) - len(failed)
        smallest(live)
    assert sizes.reversals == 1, sizes.asked
