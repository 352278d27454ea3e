"""The lead closes the queue of a slot whose nodes are gone, with nobody's help: local jobs go on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.burst_routing.routing import PROBE
from minicluster.embedded.broker.launcher import write_bin
from minicluster.instance.connection import real_flux
from minicluster.instance.errors import NoEngine
from minicluster.instance.records import JobFilter, JobRequest, JobState
from minicluster.lead_server import slot_queues
from minicluster.lead_server.status_poller import Follower
from minicluster.lead_server.status_snapshot import StatusSnapshot
from minicluster.save_restore.state_files import StateFiles
from tests.burst.leads.conftest import QUEUES
from tests.conformance import bindings
from tests.conformance.laboratory import Laboratory, eventually
from tests.restful.conftest import short_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.port import Instance
    from minicluster.instance.records import QueueStatus

MANAGED = f'{QUEUES}\n[minicluster.bursting]\nslots = ["burst-0"]\n'
WAITING = 10


@pytest.fixture(params=["embedded", "flux"])
def near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    """An instance with one node of its own, and a burst of one node that is active; its service is dead."""
    monkeypatch.setattr(slot_queues, "INTERVAL", 0.5)
    with short_directory() as folder:
        try:
            flux = Path(real_flux()).parent if request.param == "flux" else write_bin(folder / "bin").parent
            if request.param == "flux":
                bindings.need(str(flux / "flux"))
        except (NoEngine, ImportError) as reason:
            pytest.skip(str(reason))
        made = Laboratory(request.param, flux, folder / "i", MANAGED, reached=request.param)
        made.properties = {"local": "0", "burst": "1", "burst-0": "1"}
        made.start("-Sbroker.quorum=1")
        snapshot = StatusSnapshot(lambda: follower.wake())  # noqa: PLW0108 - it is made below
        broken: list[Exception] = []
        state = StateFiles(str(folder))
        follower = Follower(snapshot, made._lead_link, broken.append, state, main_job=False)
        follower.start()
        eventually(lambda: (snapshot.read() or {}).get("online") == "0-1", "the lead knows who is there")
        yield made
        follower.close()
        follower.join(30)
        made.stop()
        assert broken == []


def submit(instance: Instance, *command: str, queue: str) -> int:
    request = JobRequest(
        command,
        nodes=1,
        exclusive=True,
        environment={"PATH": os.defpath},
        cwd="/",
        queue=queue,
        system={PROBE: "x"},
    )
    return instance.jobs.submit(request)


def slot_queue(instance: Instance) -> QueueStatus:
    [found] = [each for each in instance.queues.all() if each.name == "burst-0"]
    return found


def test_local_jobs_start_behind_jobs_of_a_burst_that_is_lost(near: Laboratory) -> None:
    with near.connect() as instance:
        for queue in ("default", "burst-0"):
            instance.queues.start(queue)
        runs = submit(instance, "sleep", "600", queue="burst-0")
        eventually(lambda: instance.jobs.get(runs).state is JobState.RUN, "the burst runs a job")
        wait = {submit(instance, "true", queue="burst-0") for _ in range(WAITING)}
        near.kill_broker(1)
        assert instance.jobs.wait(submit(instance, "true", queue="default"), 60).returncode == 0
        eventually(lambda: not slot_queue(instance).started, "the queue of the slot is closed")
        reason = "rank 1 is gone: it is started again once they are back and have been tried"
        assert slot_queue(instance).stop_reason == reason
        # Real Flux may have let some of them fail on the dead node, before its scheduler knew.
        found = [instance.jobs.get(job) for job in wait]
        failed = {each.exception.note for each in found if each.exception is not None}
        assert failed <= {"node failure on mc-1 (rank 1)"}
        assert all(each.exception or each.state in JobState.PENDING for each in found)


def test_a_queue_that_is_started_though_nobody_is_there_is_closed(near: Laboratory) -> None:
    """As by a service that has died since."""
    with near.connect() as instance:
        near.kill_broker(1)
        eventually(lambda: instance.nodes.resources().up.nodes == 1, "the node is known to be gone")
        wait = {submit(instance, "true", queue="burst-0") for _ in range(WAITING)}
        for queue in ("burst-0", "default"):
            instance.queues.start(queue)
        assert instance.jobs.wait(submit(instance, "true", queue="default"), 60).returncode == 0
        eventually(lambda: not slot_queue(instance).started, "the queue of the slot is closed")
        assert slot_queue(instance).stop_reason.startswith("none of its nodes is there: ")
        pending = instance.jobs.find(JobFilter(states=JobState.PENDING))
        assert {each.id for each in pending} == wait
