"""Bursts with a tunnel: their relay, and the lead's side, which is kept, found again and ended."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from burst.errors import CallInvalid, ClusterGone
from burst.joining.records import JoinSettings, LeadRoute
from burst.lifecycle.records import ResourcePhase
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.tunnel.processes import ReachProcesses
from burst.providers.kubernetes.tunnel.records import ReachDirectory, ReachStatus, ReachTask
from burst.providers.provider import WantedBurst
from minicluster.local import processes
from tests.burst.joining.near import join_settings
from tests.burst.providers.kubernetes.conftest import NOW, FarCluster
from tests.burst.providers.kubernetes.fake_api import NAMESPACE, Refusal
from tests.burst.providers.kubernetes.tunnel.two_clusters import task
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROUTE = LeadRoute("/home/ada/.kube/config", "lab", "science", "lead=yes", 8050)
READY = ReachStatus(os.getpid(), processes.start_time(os.getpid()), idle=2, reached=True)


def by_tunnel(_wanted: WantedBurst) -> JoinSettings:
    return replace(join_settings(), address="", port=8050, route=ROUTE)


class FakeReaches:
    """Where the lead's side would run."""

    def __init__(self) -> None:
        self.tasks: dict[str, ReachTask] = {}
        self.status: ReachStatus | None = None

    def check(self, task: ReachTask) -> None:
        pass

    def problems(self, kubeconfig: str) -> list[str]:
        return []

    def ensure(self, wanted: WantedBurst, task: Callable[[], ReachTask]) -> ReachStatus | None:
        if wanted.label not in self.tasks:
            self.tasks[wanted.label] = task()
        return self.status

    def stop(self, wanted: WantedBurst) -> None:
        self.tasks.pop(wanted.label, None)

    def left(self, installation: str) -> Iterator[ReachTask]:
        yield from (each for each in self.tasks.values() if each.installation == installation)


class TunnelledCluster(FarCluster):
    """A provider whose bursts have tunnels."""

    @property
    def reaches(self) -> FakeReaches:
        found = self.provider._reaches
        assert isinstance(found, FakeReaches)
        return found


@pytest.fixture
def tunnelled(far: FarCluster) -> TunnelledCluster:
    provider = KubernetesProvider("far", far.provider._settings, by_tunnel, lambda: NOW)
    provider._reaches = FakeReaches()
    return TunnelledCluster(far.api, provider, far.wanted)


def test_a_burst_is_ready_with_its_tunnel(tunnelled: TunnelledCluster) -> None:
    tunnelled.create()
    status = tunnelled.get()
    assert (status.phase, status.reason) == (ResourcePhase.COMING, "its tunnel: it is not connected yet")
    tunnelled.reaches.status = READY
    assert tunnelled.get().phase is ResourcePhase.READY
    [made] = tunnelled.reaches.tasks.values()
    assert (made.namespace, made.port, made.lead, made.nodes) == (NAMESPACE, 8049, ROUTE, 2)
    assert [each["metadata"]["name"] for each in tunnelled.api.of("services")] == ["mcb-62dgmfw4gk-relay"]


@pytest.mark.parametrize(
    ("status", "phase", "reason"),
    [
        (
            replace(READY, idle=0, problem="the lead: away"),
            ResourcePhase.COMING,
            "its tunnel: the lead: away",
        ),
        (replace(READY, start_time=1), ResourcePhase.COMING, "its tunnel: it is not connected yet"),
        (
            replace(READY, idle=0, reached=False, refused=True, problem="the relay: 403: no"),
            ResourcePhase.BROKEN,
            "its tunnel: the relay: 403: no",
        ),
        (
            replace(READY, idle=0, refused=True, problem="the relay: 403: no"),
            ResourcePhase.COMING,
            "its tunnel: the relay: 403: no",
        ),
    ],
    ids=["no relay", "ended", "never allowed", "allowed once"],
)
def test_why_a_tunnel_is_not_ready(
    tunnelled: TunnelledCluster, status: ReachStatus, phase: ResourcePhase, reason: str
) -> None:
    tunnelled.create()
    tunnelled.reaches.status = status
    found = tunnelled.get()
    assert (found.phase, found.reason) == (phase, reason)


def test_its_end_takes_both_sides(tunnelled: TunnelledCluster) -> None:
    tunnelled.create()
    tunnelled.delete()
    assert tunnelled.get().phase is ResourcePhase.ABSENT
    assert list(tunnelled.provider.owned("here")) == []
    assert (tunnelled.reaches.tasks, tunnelled.api.of("services"), tunnelled.api.of("jobs")) == ({}, [], [])


def test_what_a_service_left_that_was_killed_amid_creation_is_completed(tunnelled: TunnelledCluster) -> None:
    tunnelled.create()
    tunnelled.reaches.tasks.clear()
    tunnelled.get()
    assert set(tunnelled.reaches.tasks) == {"62dgmfw4gk"}


def test_a_process_without_objects_is_found_and_swept(tunnelled: TunnelledCluster) -> None:
    """Its service was killed amid a deletion, or has lost its ledger."""
    tunnelled.create()
    del tunnelled.api.items[f"/api/v1/namespaces/{NAMESPACE}/configmaps/mcb-62dgmfw4gk"]
    for path in [each for each in tunnelled.api.items if "mcb-" in each]:
        del tunnelled.api.items[path]
    [left] = tunnelled.provider.owned("here")
    assert (left.key, left.phase) == (tunnelled.key, ResourcePhase.BROKEN)
    assert left.reason == "the lead's side of its tunnel is left"
    assert list(tunnelled.provider.owned("elsewhere")) == []
    assert tunnelled.get().phase is ResourcePhase.BROKEN
    tunnelled.delete()
    assert tunnelled.get().phase is ResourcePhase.ABSENT
    assert list(tunnelled.provider.owned("here")) == []


def test_a_burst_whose_minicluster_is_gone_can_be_deleted(
    tunnelled: TunnelledCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunnelled.create()
    tunnelled.reaches.tasks.clear()

    def gone(_wanted: WantedBurst) -> JoinSettings:
        raise ClusterGone("its MiniCluster is gone")

    monkeypatch.setattr(tunnelled.provider, "_join", gone)
    found = tunnelled.get()
    assert (found.phase, found.reason) == (ResourcePhase.COMING, "its tunnel: its MiniCluster is gone")
    tunnelled.delete()
    assert tunnelled.get().phase is ResourcePhase.ABSENT


def test_without_a_keeper_a_tunnel_is_refused_with_what_to_set(far: FarCluster) -> None:
    provider = KubernetesProvider("far", far.provider._settings, by_tunnel, lambda: NOW)
    with pytest.raises(CallInvalid, match=r"spec\.bursting\.expose is tunnel.* set it to nodePort"):
        provider.create(far.key, "token", far.wanted)
    assert far.api.of("configmaps") == []


def test_who_may_not_list_services_has_made_none(far: FarCluster) -> None:
    """Roles for bursts without tunnels have no right to Services."""
    far.create()
    far.api.fail("GET", "services", *[Refusal(403, "services is forbidden")] * 2)
    assert far.get().phase is ResourcePhase.READY
    assert [each.phase for each in far.provider.owned("here")] == [ResourcePhase.READY]


def test_a_process_outlives_who_started_it_and_ends_when_stopped(tmp_path: Path) -> None:
    """Its API server does not answer: it goes on trying."""
    (tmp_path / "kubeconfig").write_text(DEAD)
    wanted = WantedBurst("62dgmfw4gk", "here", 2, "c8", spot=False, until=0.0)
    made = task(str(tmp_path / "kubeconfig"))
    first = ReachProcesses(tmp_path / "tunnels")
    assert first.ensure(wanted, lambda: made) is None
    directory = ReachDirectory(tmp_path / "tunnels" / "mcb-62dgmfw4gk")
    try:
        until(lambda: (found := directory.status()) is not None and found.problem, "the process to try", 30.0)
        later = ReachProcesses(tmp_path / "tunnels")
        status = later.ensure(wanted, lambda: pytest.fail("it has begun"))
        assert status is not None
        assert (os.getsid(status.pid), status.is_ready) == (status.pid, False)
        assert "no answer from http://127.0.0.1:1" in status.problem
        os.kill(status.pid, signal.SIGKILL)
        until(lambda: not status.is_alive, "the process to end", 30.0)
        # Its threads may have its lock for a moment longer.
        again = until(
            lambda: later.ensure(wanted, lambda: pytest.fail("its task is known")), "another process", 30.0
        )
        assert again is not None
        assert again.pid != status.pid
        assert list(later.left("here")) == [made]
        assert list(later.left("elsewhere")) == []
        later.stop(wanted._replace(installation="elsewhere"))
        assert processes.marked(directory.path)
    finally:
        first.stop(wanted)
    assert processes.marked(directory.path) == set()
    assert not directory.path.exists()


DEAD = """\
apiVersion: v1
kind: Config
current-context: far
contexts: [{name: far, context: {cluster: far, user: me}}]
clusters: [{name: far, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {token: a-token-that-nobody-may-read}}]
"""
