"""The whole way: a service bursts to instances that a rehearsed Compute Engine sells, and pays for them."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import yaml

from burst.planning import money
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.google_cloud import RehearsedGoogle
from tests.devcluster import until
from tests.kubernetes import burst_services
from tests.kubernetes.burst_services import Served
from tests.kubernetes.command_line import member
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.machine_leads import lead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.kept_instance import KeptInstance
    from tests.kubernetes.live import Live
    from tests.kubernetes.operators import Operator

MACHINE = "c2-standard-4"
A_SECOND = 1_000
"""Of a machine, in micro-units."""
TICK = 5.0
"""Seconds between which a service sees that machines have come, or gone."""
BURSTING = {"providers": ["vms"], "idleSeconds": 3, "verifySeconds": 3, "drainTimeoutSeconds": 60}


def test_a_job_runs_on_machines_that_were_sold_and_their_bill_is_its_cost(
    live: Live, nodes: ControlPlane, nodes_operator: Operator, tmp_path: Path
) -> None:
    (tmp_path / "google").mkdir()
    with lead(live, nodes, nodes_operator, tmp_path, **BURSTING) as near:
        sold = near.machines
        cloud = RehearsedCloud(
            time.time,
            {MACHINE: 3600 * A_SECOND},
            coming=1.0,
            going=1.0,
            started=sold.started,
            ended=sold.ended,
        )
        with RehearsedGoogle(cloud, tmp_path / "google") as google:
            sold.metadata = google.compute.metadata
            row = {"machine": MACHINE, "cores": 1, "price": "3.6", "priceDate": "2026-11-01"}
            settings = {
                **google.settings,
                "region": "us-central1",
                "machines": [row],
                "image": "global/images/family/flux",
                "path": list(near.path),
            }
            providers = [{"name": "vms", "kind": "compute-engine", "settings": settings}]
            (tmp_path / "burst.yaml").write_text(yaml.safe_dump({"providers": providers}))
            served = Served(member(nodes, live.namespace, "edit"), tmp_path)
            served.start()
            try:
                check(served, near.instance, cloud)
            finally:
                if served.process is not None and served.process.poll() is None:
                    served.end(signal.SIGKILL)
        assert len(sold.made) == 2
        until(lambda: all(each.is_off for each in sold.made), "machines to be off", SECONDS)


def check(served: Served, instance: KeptInstance, cloud: RehearsedCloud) -> None:
    """Submit a job, and see it run there, and nothing left of it."""
    job = served.submit("--burstable", "-N", 2, "-n", 2, "-t", "5m")
    ended = burst_services.job(instance, job)
    assert (ended.returncode, len(cloud.machines)) == (0, 2), served.log()
    names = {each.name for each in cloud.machines}
    assert set(burst_services.hosts(instance, job)) == names
    until(lambda: all(each["state"] == "deleted" for each in served.bursts()), "it to be deleted", SECONDS)
    assert cloud.there() == []
    [burst] = served.bursts()
    assert (burst["outcome"], burst["is_final"]) == ("succeeded", True)
    cost, bill = money.amount(burst["cost"]), cloud.bill()
    assert abs(cost - bill) <= 2 * TICK * A_SECOND, (cost, bill)
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
