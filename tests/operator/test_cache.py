"""The cache: what late, repeated and missing news make of it."""

import json
from collections.abc import Callable, Iterator

import pytest

from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.operator.cache import Cache
from minicluster.plan import ObjectKey
from minicluster.plan.constants import LABEL_INSTANCE
from tests.operator.cached import JOB, MC, OTHER, answer, config, contents
from tests.operator.objects import NAMESPACE, Object, broker, job, minicluster, owned

SEEN: dict[str, Callable[[Cache, int], object]] = {
    "a MiniCluster": lambda cache, version: cache.see_cluster(minicluster(version=version)),
    "a Job": lambda cache, version: cache.see("Job", job(version=version, parallelism=version)),
    "a broker pod": lambda cache, version: cache.see("Pod", broker(version=version)),
    "a ConfigMap": lambda cache, version: cache.see("ConfigMap", config(version)),
}


@pytest.mark.parametrize("see", SEEN.values(), ids=SEEN)
@pytest.mark.parametrize("version", [4, 5], ids=["older", "the same"])
def test_old_news_changes_nothing(see: Callable[[Cache, int], object], version: int) -> None:
    """What is not newer than what is known is not taken in, and concerns nobody."""
    cache = Cache()
    see(cache, 5)
    before = contents(cache)
    assert not see(cache, version)
    assert contents(cache) == before


@pytest.mark.parametrize("see", SEEN.values(), ids=SEEN)
def test_versions_are_numbers(see: Callable[[Cache, int], object]) -> None:
    """Version 10 is newer than 9."""
    cache = Cache()
    see(cache, 9)
    before = contents(cache)
    see(cache, 10)
    assert contents(cache) != before


def test_a_change_concerns_the_instance_of_its_label() -> None:
    assert Cache().see("ConfigMap", config()) == {MC}


def test_a_new_version_of_the_same_concerns_nobody() -> None:
    """A write that changed nothing the operator looks at, such as a label of somebody's."""
    cache = Cache()
    cache.see("ConfigMap", config(1))
    assert cache.see("ConfigMap", config(2)) == set()


@pytest.mark.parametrize(
    "status",
    [{"active": 1}, {"conditions": [{"type": "Complete", "status": "True"}]}],
    ids=["active pods", "its end"],
)
def test_a_jobs_status_concerns_its_minicluster(status: Object) -> None:
    cache = Cache()
    cache.see("Job", job(version=1))
    assert cache.see("Job", job(version=2, status=status)) == {MC}


def test_a_pod_that_reports_the_same_concerns_nobody() -> None:
    cache = Cache()
    cache.see("Pod", broker(version=1))
    assert cache.see("Pod", broker(version=2)) == set()


def test_a_pod_that_begins_to_go_concerns_its_minicluster() -> None:
    cache = Cache()
    cache.see("Pod", broker(version=1))
    going = broker(version=2)
    going["metadata"]["deletionTimestamp"] = "2026-03-14T15:09:26Z"
    assert cache.see("Pod", going) == {MC}


@pytest.mark.parametrize("kind", ["ConfigMap", "Job"])
def test_an_object_with_another_instance_concerns_both(kind: str) -> None:
    """The one that it was taken from makes it anew."""
    cache = Cache()
    cache.see(kind, owned(kind, version=1, spec={}))
    assert cache.see(kind, owned(kind, version=2, instance="other", spec={})) == {MC, OTHER}
    assert [each.key.kind for each in cache.dependents.of(OTHER)] == [kind]
    assert list(cache.dependents.of(MC)) == []


def test_a_pod_with_another_instance_is_not_the_first_ones() -> None:
    cache = Cache()
    cache.see("Pod", broker(version=1))
    cache.see("Pod", broker(version=2, instance="other"))
    assert cache.pods.reports(MC, "uid-Job-mc") == ()
    assert len(cache.pods.reports(OTHER, "uid-Job-mc")) == 1


def test_what_was_applied_is_known_at_once() -> None:
    cache = Cache()
    cache.applied(job(), answer(job(), 5))
    assert [each.key for each in cache.dependents.of(MC)] == [ObjectKey("Job", "mc")]
    assert cache.dependents.jobs[JOB].parallelism == 2


def test_the_news_of_what_was_applied_is_no_news() -> None:
    """The watch tells of the operator's own write: nothing is to be done."""
    cache = Cache()
    cache.applied(job(), answer(job(), 5))
    assert cache.see("Job", job(version=5)) == set()


def test_an_answer_that_was_overtaken_changes_nothing() -> None:
    """The watch has told of a later version before the answer came."""
    cache = Cache()
    cache.see("Job", job(version=7, parallelism=9))
    cache.applied(job(), answer(job(), 5))
    assert cache.dependents.jobs[JOB].parallelism == 9
    assert cache.dependents[JOB].version == 7


def seen_and_deleted(cache: Cache) -> None:
    cache.see("Job", job(version=5))
    cache.forget("Job", job(version=6))


def missing_in_a_list(cache: Cache) -> None:
    cache.replace_all("Job", [], 6)


@pytest.mark.parametrize("deliver", [seen_and_deleted, missing_in_a_list])
def test_an_answer_that_a_deletion_overtook_is_not_taken_in(deliver: Callable[[Cache], None]) -> None:
    """Else what is gone would count as being there, for ever."""
    cache = Cache()
    deliver(cache)
    assert not cache.applied(job(), answer(job(), 5))
    assert contents(cache) == contents(Cache())


def test_an_answer_that_is_younger_than_a_deletion_is_taken_in() -> None:
    cache = Cache()
    seen_and_deleted(cache)
    assert cache.applied(job(), answer(job(), 7))
    assert JOB in cache.dependents


def test_an_applied_job_keeps_the_status_that_was_observed() -> None:
    cache = Cache()
    cache.see("Job", job(version=1, status={"active": 2}))
    cache.applied(job(parallelism=4), answer(job(), 5))
    assert (cache.dependents.jobs[JOB].parallelism, cache.dependents.jobs[JOB].active) == (4, 2)


@pytest.mark.parametrize("change", [{"uid": "uid-new"}, {"instance": "other"}], ids=["anew", "relabelled"])
def test_an_applied_job_that_was_another_one_is_known(change: dict[str, str]) -> None:
    """Its report is not lost together with what was known of the former."""
    cache = Cache()
    cache.see("Job", job(version=1, status={"active": 2}, **change))
    cache.applied(job(), answer(job(), 5))
    assert cache.dependents.jobs[JOB].parallelism == 2


def test_a_job_made_anew_has_none_of_the_formers_status() -> None:
    cache = Cache()
    cache.see("Job", job(version=1, status={"active": 2}, uid="uid-old"))
    cache.applied(job(), answer(job(), 5))
    assert cache.dependents.jobs[JOB].active == 0


@pytest.mark.parametrize(
    ("seen", "applied", "suspended"),
    [
        (None, {}, True),
        ({"suspend": True}, {}, True),
        ({"suspend": False}, {}, False),
        ({"suspend": True}, {"suspend": False}, False),
        (None, {"suspend": False}, False),
    ],
    ids=["new", "held back", "admitted", "resumed by us", "new, ours to start"],
)
def test_whether_a_job_is_suspended_is_kueues_decision_where_it_is_not_ours(
    seen: Object | None, applied: Object, suspended: bool
) -> None:
    """A Job in a queue is applied without the field; the watch tells nothing new of what was just applied."""
    cache = Cache()
    if seen is not None:
        cache.see("Job", {**job(version=1), "spec": {"parallelism": 2, **seen}})
    item: Object = {**job(), "spec": {"parallelism": 4, **applied}}
    cache.applied(item, answer(item, 5))
    assert cache.dependents.jobs[JOB].suspended is suspended


def test_a_deletion_is_taken_in() -> None:
    cache = Cache()
    cache.see("Job", job(version=1))
    assert cache.forget("Job", job(version=2)) == {MC}
    assert contents(cache) == contents(Cache())


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_late_deletion_leaves_what_was_made_since(kind: str) -> None:
    """The object was deleted and made anew; the news of the deletion came last."""
    make = job if kind == "Job" else broker
    cache = Cache()
    cache.see(kind, make(version=9))
    assert cache.forget(kind, make(version=5)) == set()
    assert ObjectReference(kind, NAMESPACE, make()["metadata"]["name"]) in {**cache.dependents, **cache.pods}


def test_a_deletion_of_something_unknown_concerns_nobody() -> None:
    assert Cache().forget("Job", job()) == set()


@pytest.mark.parametrize(
    ("uid", "stays"), [("uid-mc", False), ("uid-older", True)], ids=["this one", "an earlier one"]
)
def test_a_minicluster_is_forgotten_by_its_uid(uid: str, stays: bool) -> None:
    cache = Cache()
    cache.see_cluster(minicluster(version=5))
    cache.forget_cluster(minicluster(version=9, uid=uid))
    assert (MC in cache.clusters) is stays


def test_of_a_minicluster_the_servers_bookkeeping_is_dropped() -> None:
    """managedFields are larger than the document."""
    item = minicluster()
    item["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    cache = Cache()
    cache.see_cluster(item)
    assert "managedFields" not in cache.clusters[MC]["metadata"]


def test_nothing_is_left_of_what_is_gone() -> None:
    """A cache of an operator that runs for months must not grow."""
    cache = Cache()
    cache.see("Pod", broker(version=1))
    cache.see("Pod", broker(version=2, instance="other"))
    cache.applied(job(), answer(job(), 3))
    cache.forget("Pod", broker(version=5, instance="other"))
    cache.forget("Job", job(version=6))
    left = cache.dependents.owned_fields or cache.dependents._by_instance
    assert (contents(cache), left) == (contents(Cache()), {})


def test_labels_are_what_names_the_instance() -> None:
    """An object without the label belongs to no MiniCluster, whatever its name."""
    item = config()
    del item["metadata"]["labels"][LABEL_INSTANCE]
    assert Cache().see("ConfigMap", item) == {Name(NAMESPACE, "")}


def test_texts_that_many_miniclusters_have_are_there_once() -> None:
    """Each document was parsed by itself, with texts of its own, names of fields included."""
    cache = Cache()
    for name in ("a", "b"):
        cache.see_cluster(json.loads(json.dumps(minicluster(name=name))))
    one, other = (cache.clusters[Name(NAMESPACE, name)]["spec"] for name in ("a", "b"))
    assert one == other
    assert one is not other
    assert {id(text) for text in texts(one)} == {id(text) for text in texts(other)}


def texts(value: object) -> Iterator[str]:
    """Yield the texts of a JSON value, those of its keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for each in pair for text in texts(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in texts(each))
