"""`minicluster burst-service` as processes over a real API server: one works, the other stands by."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.devcluster.waiting import until
from tests.forked import Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.devcluster import Api, ControlPlane
    from tests.devcluster.existing import ExistingCluster

SECONDS = 120.0
SETTINGS = """\
currency: USD
budgets: [{scope: all, amount: "250"}]
providers: [{name: far, kind: memory, settings: {offers: [{machine: c8, cores: 8}]}}]
"""
_LISTENS = re.compile(r"/metrics are served on ([\d.]+:\d+)")


@dataclass
class BurstProcess:
    """A process, and its log."""

    process: Forked
    log: Path

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of an answer of its probes' port."""

        def address() -> str:
            assert self.process.poll() is None, self.log.read_text()
            found = _LISTENS.search(self.log.read_text())
            return found[1] if found else ""

        answer = httpx2.get(f"http://{until(address, 'its port', SECONDS)}{path}")
        return answer.status_code, answer.text

    def metric(self, name: str) -> float | None:
        """Return a number, None where it is not shown."""
        lines = self.get("/metrics")[1].splitlines()
        found = [float(each.rpartition(" ")[2]) for each in lines if each.startswith(f"{name} ")]
        return found[0] if found else None

    def works(self) -> bool:
        """Whether it makes bursts, and is ready."""
        return self.metric("minicluster_burst_leader") == 1 and self.get("/readyz") == (200, "ok\n")


@pytest.fixture
def begin(
    kube: ControlPlane | ExistingCluster, namespace: str, tmp_path: Path
) -> Iterator[Callable[[str], BurstProcess]]:
    """Start processes with one ledger and one Lease; in the end they are killed."""
    (tmp_path / "burst.yaml").write_text(SETTINGS)
    begun: list[BurstProcess] = []
    environment = {**os.environ, "KUBECONFIG": str(kube.kubeconfig), "POD_NAMESPACE": namespace}
    environment.pop("KUBERNETES_SERVICE_HOST", None)

    def start(name: str) -> BurstProcess:
        words = ["burst-service", "--settings", str(tmp_path / "burst.yaml")]
        words += ["--state", str(tmp_path / "state"), "--namespace", namespace]
        log = tmp_path / f"{name}.log"
        log.touch()
        own = {**environment, "POD_NAME": name}
        begun.append(BurstProcess(Forked(words, own, Path(os.devnull), log, log), log))
        return begun[-1]

    yield start
    for each in begun:
        each.process.kill()
        each.process.wait(SECONDS)


def test_one_works_and_the_other_takes_over_at_its_end(
    begin: Callable[[str], BurstProcess], api: Api, namespace: str
) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/minicluster-burst"
    first = begin("first")
    until(first.works, "the first one to work", SECONDS)
    second = begin("second")
    until(lambda: second.get("/readyz") == (200, "ok\n"), "the second one to stand by", SECONDS)
    assert second.metric("minicluster_burst_leader") == 0
    assert second.metric('minicluster_burst_budget{currency="USD",period="month",scope="all"}') == 250
    assert second.metric("minicluster_burst_stuck") is None
    assert first.metric("minicluster_burst_stuck") == 0
    assert first.metric('minicluster_bursts{provider="far",state="active"}') == 0
    assert api.get(lease)["spec"]["holderIdentity"].startswith("first_")

    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(SECONDS) == 0
    until(second.works, "the second one to take over", SECONDS)
    assert api.get(lease)["spec"]["holderIdentity"].startswith("second_")
    assert [second.get(path)[0] for path in ("/healthz", "/nothing")] == [200, 404]
    for each in (first, second):
        assert "Traceback" not in each.log.read_text()


def test_one_that_loses_the_lease_ends_with_the_reason(
    begin: Callable[[str], BurstProcess], api: Api, namespace: str
) -> None:
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/minicluster-burst"
    found = begin("first")
    until(found.works, "it to work", SECONDS)
    api.merge(lease, {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}})
    assert found.process.wait(SECONDS) == 1
    assert "lost the Lease" in found.log.read_text()
    assert "Traceback" not in found.log.read_text()
