"""An autoscaler grows a MiniCluster for jobs that can run there, not for those that burst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.devcluster import until
from tests.kubernetes import adapters, autoscalers, burst_services, script_pods
from tests.kubernetes.autoscalers import RANGE, TWELVE, smallest
from tests.kubernetes.command_line import member
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.devcluster.release import Release
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live

pytestmark = pytest.mark.timeout(600)

FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 5, "cores": 1}]},
}
BURSTING = {"dryRun": False, "expose": "nodePort", "idleSeconds": 3, "verifySeconds": 3}
QUICKLY = {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
WAITING = "until test -e /ledger/released; do sleep 0.2; done"


@pytest.fixture
def ledger(live: Live, release: Release, nodes: ControlPlane, tmp_path: Path) -> Ledger:
    """A MiniCluster of one broker, of at most four, sized by its queue; bursts have five more."""
    for name in adapters.APIS:
        adapters.wait_available(release.api, name)
    return Ledger.created(live, nodes, tmp_path / "ledger", flux=FLUX, bursting=BURSTING, **RANGE)


@pytest.fixture
def served(ledger: Ledger, live: Live, nodes: ControlPlane, tmp_path: Path) -> Iterator[Served]:
    """A service whose bursts are pods of this cluster, in another namespace."""
    with script_pods.space(nodes.api) as namespace:
        more = {
            "offers": [{"machine": "small", "cores": 1, "requests": {"cpu": "250m"}}],
            "volumes": {"ledger": {"hostPath": str(ledger.folder), "path": "/ledger"}},
        }
        yield from burst_services.of(
            member(nodes, live.namespace, "edit"), nodes, namespace, tmp_path, **more
        )


def test_a_job_that_bursts_moves_no_size_and_others_beside_it_do(
    served: Served, ledger: Ledger, live: Live
) -> None:
    with autoscalers.watching(live.api, live.namespace) as sizes:
        live.change(autoscaling=QUICKLY)
        active = lambda: autoscalers.active(live.api, live.namespace) == "True"  # noqa: E731
        until(active, "the autoscaler to have numbers", SECONDS)
        served.start()
        job = served.submit("--burstable", "-N", 5, "-t", "10m", script=WAITING)
        until(lambda: ledger.instance.ask(lambda it: it.jobs.get(job)).t_run, "the job to run", SECONDS)
        assert sizes.asked == [1]

        ledger.submit(TWELVE)
        until(lambda: live.item["spec"]["size"] == 4, "the autoscaler to ask for four", SECONDS)
        live.joined(4)
        ledger.release()
        until(lambda: len(ledger.written()) == len(TWELVE), "the jobs to end", SECONDS)
        found = ledger.instance.ask(lambda it: it.jobs.get(job))
        assert (found.nnodes, found.nodelist) == (5, "burst-0-[0-4]")
        smallest(live)
        until(lambda: [each["state"] for each in served.bursts()] == ["deleted"], "the burst's end", SECONDS)
    assert (sizes.asked[0], max(sizes.asked), sizes.asked[-1]) == (1, 4, 1)
    assert sizes.reversals == 1, sizes.asked
