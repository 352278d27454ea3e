"""Warnings about pods that do not start, or are not made, are asked for only meanwhile."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client.api import Listing, Selection
from minicluster.kube_client.errors import ApiUnreachableError
from minicluster.kube_client.objects import Name
from minicluster.operator.cache import Cache
from minicluster.operator.pod_events import PodEvents
from minicluster.operator.records import PodWarning
from tests.operator import objects
from tests.operator.memory_api import MemoryApi
from tests.operator.objects import Object
from tests.operator.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable

NAME = Name(objects.NAMESPACE, "mc")
LACKING = 'MountVolume.SetUp failed for volume "keys" : secret "absent" not found'


def event(message: str, at: str, reason: str = "FailedMount") -> Object:
    return {
        "metadata": {"creationTimestamp": "2026-03-14T15:00:00Z"},
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
    }


@dataclass
class EventServer(MemoryApi):
    """An API server that has these Events about anything."""

    events: tuple[Object, ...] = ()
    asked: list[str] = field(default_factory=list)
    away: int = 0
    trouble: Exception = field(default_factory=lambda: ApiUnreachableError("no answer"))

    async def list(self, selection: Selection) -> Listing:
        self.asked.append(f"{selection.resource.path(selection.namespace)}?{selection.fields}")
        if self.away:
            self.away -= 1
            raise self.trouble
        return Listing(self.events, "1")


def event_server(*events: Object) -> EventServer:
    """Return such a server."""
    return EventServer(events=events)


class PodEventsScene:
    """One operator's complaints, about one MiniCluster."""

    def __init__(self, api: MemoryApi) -> None:
        self.cache = Cache()
        self.changed: list[Name] = []
        self.pod_events = PodEvents(api, self.cache, self.changed.append)
        self.version = 1
        self.cache.see_cluster(objects.minicluster())
        self.cache.see("Job", objects.job(parallelism=1))

    def job(self, pods: int, **more: Any) -> None:
        """Take in how many pods the Job is to have, and its status."""
        self.version += 1
        self.cache.see("Job", objects.job(version=self.version, parallelism=pods, **more))
        self.pod_events.follow(NAME)

    def pod(
        self, index: int = 0, waiting: str = "ContainerCreating", *, node: str = "node-1", made: str = ""
    ) -> None:
        """Take in how a pod is, and when it was made."""
        self.version += 1
        pod = objects.broker(index, version=self.version)
        pod["metadata"]["creationTimestamp"] = made or None
        pod["spec"]["nodeName"] = node
        state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
        pod["status"] = {
            "phase": "Pending" if waiting else "Running",
            "containerStatuses": [{"name": "mc", "state": state}],
        }
        self.cache.see("Pod", pod)
        self.pod_events.follow(NAME)

    @property
    def refusal(self) -> str:
        """Why pods are not made."""
        return self.cache.pods.refusal(NAME, "uid-Job-mc")

    @property
    def words(self) -> list[tuple[str, str]]:
        """What the pods say."""
        return [(each.reason, each.message) for each in self.cache.pods.reports(NAME, "uid-Job-mc")]


def with_pod_events(api: MemoryApi, doing: Any) -> Any:
    """Do something with complaints in virtual time, and end them."""

    async def work() -> Any:
        here = PodEventsScene(api)
        done: Awaitable[Any] = doing(here)
        try:
            return await done
        finally:
            await here.pod_events.close()

    return run(work())


def test_the_latest_word_is_the_pods() -> None:
    api = event_server(
        event("older", "2026-03-14T15:01:00Z"),
        event(LACKING, "2026-03-14T15:03:00Z"),
        event("old", "2026-03-14T15:02:00Z"),
    )

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(3)
        assert here.words == [("FailedMount", LACKING)]
        assert here.changed == [NAME]
        assert api.asked == [
            "/api/v1/namespaces/science/events?involvedObject.uid=uid-Pod-mc-0-x,type=Warning"
        ]

    with_pod_events(api, doing)


def test_the_same_event_about_another_sandbox_is_no_news() -> None:
    """Each try to make a pod's network has an identifier of its own: 64 digits."""
    api = event_server(event(f'failed to set up sandbox "{"0a" * 32}": no network', "2026-03-14T15:01:00Z"))

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(3)
        api.events = (event(f'failed to set up sandbox "{"1b" * 32}": no network', "2026-03-14T15:02:00Z"),)
        await asyncio.sleep(60)
        assert here.words == [("FailedMount", 'failed to set up sandbox "…": no network')]
        assert here.changed == [NAME]

    with_pod_events(api, doing)


@pytest.mark.parametrize(
    ("waiting", "node"),
    [
        pytest.param("", "node-1", id="it runs"),
        pytest.param("ImagePullBackOff", "node-1", id="its status says why"),
        pytest.param("", "", id="it has no node"),
    ],
)
def test_otherwise_nobody_is_asked(waiting: str, node: str) -> None:
    api = event_server(event(LACKING, ""))

    async def doing(here: PodEventsScene) -> None:
        here.pod(0, waiting, node=node)
        await asyncio.sleep(100)

    with_pod_events(api, doing)
    assert api.asked == []


def test_one_that_comes_up_quickly_is_not_asked_about() -> None:
    api = event_server(event(LACKING, ""))

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(1)
        here.pod(0, "")
        await asyncio.sleep(100)

    with_pod_events(api, doing)
    assert api.asked == []


def test_once_it_runs_the_event_is_forgotten() -> None:
    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(3)
        here.pod(0, "")
        assert (here.words, here.cache.pods.warnings) == ([("", "")], {})

    with_pod_events(event_server(event(LACKING, "")), doing)


def test_it_is_asked_less_and_less_often() -> None:
    """And the same words are no news."""
    api = event_server(event(LACKING, ""))

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(60)
        assert here.changed == [NAME]

    with_pod_events(api, doing)
    assert len(api.asked) == 4  # after 2, 6, 14 and 30 s


def test_of_many_pods_one_is_asked_about() -> None:
    """They lack the same, most often."""
    api = event_server(event(LACKING, ""))

    async def doing(here: PodEventsScene) -> None:
        for index in range(3):
            here.pod(index)
        await asyncio.sleep(3)
        assert here.words == [("FailedMount", LACKING), ("", ""), ("", "")]

    with_pod_events(api, doing)
    assert len(api.asked) == 1


def test_a_server_that_is_away_is_asked_again() -> None:
    api = event_server(event(LACKING, ""))
    api.away = 2

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(20)
        assert here.cache.pods.warnings[NAME] == PodWarning("uid-Pod-mc-0-x", "FailedMount", LACKING)

    with_pod_events(api, doing)


def test_a_defect_does_not_end_the_asking(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, with where it is."""
    api = event_server(event(LACKING, ""))
    api.away, api.trouble = 1, ZeroDivisionError("oh")

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(20)
        assert here.words == [("FailedMount", LACKING)]

    with_pod_events(api, doing)
    assert caplog.messages == ["science/mc: a defect of the operator: the Events of pod mc-0-x"]
    assert "ZeroDivisionError: oh" in caplog.text


def test_an_event_that_makes_no_sense_does_not_end_the_asking() -> None:
    api = event_server({"reason": "Odd"})

    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(3)
        api.events = (event(LACKING, ""),)
        await asyncio.sleep(20)
        assert here.words == [("FailedMount", LACKING)]

    with_pod_events(api, doing)


def test_of_a_minicluster_that_is_gone_nothing_is_kept() -> None:
    async def doing(here: PodEventsScene) -> None:
        here.pod()
        await asyncio.sleep(3)
        here.cache.forget_cluster(objects.minicluster())
        here.pod_events.follow(NAME)
        assert (here.cache.pods.warnings, here.pod_events._asking) == ({}, {})

    with_pod_events(event_server(event(LACKING, "")), doing)


FORBIDDEN = 'pods "mc-{}" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
REFUSED = FORBIDDEN.format("…")


def refused(pod: str = "0-x4k2f", at: str = "2026-03-14T15:01:00Z") -> Object:
    """Return the Job controller's Event about a pod that it could not make."""
    return event(f"Error creating: {FORBIDDEN.format(pod)}", at, "FailedCreate")


def test_why_a_job_has_no_pods() -> None:
    """Another pod's name is no news, and it is asked less and less often."""
    api = event_server(refused())

    async def doing(here: PodEventsScene) -> None:
        here.job(2)
        await asyncio.sleep(3)
        assert (here.refusal, here.changed) == (REFUSED, [NAME])
        assert api.asked == [
            "/api/v1/namespaces/science/events?involvedObject.uid=uid-Job-mc,type=Warning,reason=FailedCreate"
        ]
        api.events = (refused("1-z9z9z", "2026-03-14T15:02:00Z"),)
        await asyncio.sleep(57)
        assert (here.refusal, here.changed, len(api.asked)) == (REFUSED, [NAME], 4)

    with_pod_events(api, doing)


def test_once_its_pods_are_made_that_is_forgotten() -> None:
    async def doing(here: PodEventsScene) -> None:
        here.job(2)
        await asyncio.sleep(3)
        here.pod(0, "")
        assert here.refusal == REFUSED
        here.pod(1, "")
        assert (here.refusal, here.cache.pods.warnings, here.changed) == ("", {}, [NAME, NAME])

    with_pod_events(event_server(refused()), doing)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param("2026-03-14T15:00:59Z", REFUSED, id="one was made before"),
        pytest.param("2026-03-14T15:01:00Z", REFUSED, id="one was made in the same second"),
        pytest.param("2026-03-14T15:01:01Z", "", id="one was made since"),
    ],
)
def test_a_refusal_from_before_the_newest_pod_is_over(made: str, expected: str) -> None:
    """Such as for a quota that was raised before the MiniCluster grew."""

    async def doing(here: PodEventsScene) -> None:
        here.pod(0, "", made=made)
        here.job(2)
        await asyncio.sleep(60)
        assert here.refusal == expected

    with_pod_events(event_server(refused(at="2026-03-14T15:01:00.5Z")), doing)


ENDED = {"conditions": [{"type": "Failed", "status": "True"}]}


@pytest.mark.parametrize(
    "job",
    [
        pytest.param({"status": ENDED}, id="it has failed"),
        pytest.param({"spec": {"parallelism": 2, "suspend": True}}, id="it is suspended"),
    ],
)
def test_a_job_that_makes_no_pods_is_not_asked_about(job: Object) -> None:
    api = event_server(refused())

    async def doing(here: PodEventsScene) -> None:
        found = objects.job(version=9, parallelism=2) | job
        here.cache.see("Job", found)
        here.pod_events.follow(NAME)
        await asyncio.sleep(100)

    with_pod_events(api, doing)
    assert api.asked == []
