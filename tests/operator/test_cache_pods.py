"""The cache: which pod of an index counts, and which followers were taken away."""

from datetime import UTC, datetime

import pytest

from minicluster.operator.cache import Cache
from minicluster.operator.records import LeadReport
from minicluster.plan import BrokerReport, Disruption
from tests.operator.cached import MC, going
from tests.operator.objects import Object, broker, job, minicluster, owned

TWO = {
    "one that stays before one that goes": (
        broker(name="a", version=1, phase="Running"),
        going(broker(name="b", version=9)),
    ),
    "the younger one": (
        broker(name="b", version=9, phase="Running"),
        broker(name="a", version=1, phase="Failed"),
    ),
}


@pytest.mark.parametrize(("better", "worse"), TWO.values(), ids=TWO)
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_pods_of_one_index_one_counts(better: Object, worse: Object, first: int) -> None:
    cache = Cache()
    for pod in (better, worse) if first else (worse, better):
        cache.see("Pod", pod)
    assert [each.phase for each in cache.pods.reports(MC, "uid-Job-mc")] == ["Running"]


def test_pods_of_another_job_do_not_count() -> None:
    """Those of a Job of the same name that was deleted before."""
    cache = Cache()
    cache.see("Pod", broker())
    assert cache.pods.reports(MC, "uid-new-job") == ()


def test_a_pod_that_is_no_broker_is_an_object() -> None:
    """The services pod."""
    cache = Cache()
    cache.see("Pod", owned("Pod", "mc-services"))
    assert [each.key.name for each in cache.dependents.of(MC)] == ["mc-services"]


def taken(version: int, name: str = "mc-1-x", index: int = 1, **more: str) -> Object:
    """Return a follower's pod that Kubernetes takes away."""
    pod = broker(index, version=version, name=name, phase="Running", **more)
    pod["status"]["startTime"] = "2026-03-14T15:00:00Z"
    reported = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-03-14T15:09:26Z"}
    pod["status"]["conditions"] = [reported]
    return pod


class TestDisruptions:
    """Which followers were taken away is known until others have joined in their places."""

    STARTED = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
    TAKEN = (Disruption(1, STARTED, datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)),)
    UID = "uid-Job-mc"

    @pytest.fixture
    def cache(self) -> Cache:
        cache = Cache()
        cache.see_cluster(minicluster())
        cache.see("Job", job())
        cache.see("Pod", taken(5))
        return cache

    def found(self, cache: Cache) -> tuple[Disruption, ...]:
        return cache.pods.disruptions(MC, self.UID)

    def test_they_are_known_by_their_condition(self, cache: Cache) -> None:
        assert self.found(cache) == self.TAKEN
        assert cache.pods.disruptions(MC, "another Job") == ()
        untaken = Cache()
        untaken.see("Pod", broker(1, version=5, phase="Running"))
        assert self.found(untaken) == ()

    def test_a_lead_is_none_of_them(self) -> None:
        """With its pod the instance is another one."""
        cache = Cache()
        cache.see("Pod", taken(5, "mc-0-x", 0))
        assert self.found(cache) == ()

    def test_they_are_known_when_their_pods_are_gone(self, cache: Cache) -> None:
        cache.forget("Pod", taken(6))
        assert self.found(cache) == self.TAKEN
        cache.see("Pod", broker(1, version=7, name="mc-1-y"))
        assert self.found(cache) == self.TAKEN
        assert cache.pods.disruptions(MC, "another Job") == ()

    @pytest.mark.parametrize("first", ["the pod", "the lead"])
    def test_until_others_have_joined(self, cache: Cache, first: str) -> None:
        cache.forget("Pod", taken(6))
        cache.report(MC, LeadReport(BrokerReport("0,2")))
        cache.see("Pod", broker(1, version=7, name="mc-1-y"))
        news = [
            lambda: cache.see("Pod", broker(1, version=8, name="mc-1-y", phase="Running")),
            lambda: cache.report(MC, LeadReport(BrokerReport("0-2"))),
        ]
        news[first == "the lead"]()
        assert self.found(cache) == self.TAKEN
        news[first != "the lead"]()
        assert self.found(cache) == ()

    def test_not_when_the_lead_reports_late(self, cache: Cache) -> None:
        """It had not noticed yet."""
        cache.forget("Pod", taken(6))
        cache.report(MC, LeadReport(BrokerReport("0-2")))
        assert self.found(cache) == self.TAKEN

    def test_nor_when_the_minicluster_is_gone(self, cache: Cache) -> None:
        cache.forget("Pod", taken(6))
        cache.forget_cluster(minicluster(version=9))
        assert cache.pods.disrupted == {}
        cache.see("Pod", taken(10))
        cache.forget("Pod", taken(11))
        assert cache.pods.disrupted == {}
