"""The cache: what a new list drops and leaves, and objects of others that are in the way."""

from collections.abc import Callable

import pytest

from minicluster.kube_client.objects import Name
from minicluster.operator.cache import Cache
from minicluster.plan import ObservedObject
from tests.operator.cached import CONFIG, JOB, MC, answer, config
from tests.operator.objects import broker, job, minicluster


def test_a_list_drops_what_is_gone() -> None:
    """What was deleted while no watch ran is missing in the list."""
    cache = Cache()
    cache.see("ConfigMap", config(3))
    assert cache.replace_all("ConfigMap", [], 8) == {MC}
    assert list(cache.dependents.of(MC)) == []


def test_a_list_drops_pods_that_are_gone() -> None:
    cache = Cache()
    cache.see("Pod", broker(0))
    cache.see("Pod", broker(1))
    assert cache.replace_all("Pod", [broker(1)], 8) == {MC}
    assert [each.index for each in cache.pods.reports(MC, "uid-Job-mc")] == [1]


def test_a_list_leaves_what_is_younger_than_it() -> None:
    """An object that was applied after the server had made the list."""
    cache = Cache()
    cache.applied(config(), answer(config(), 9))
    assert cache.replace_all("ConfigMap", [], 8) == set()
    assert CONFIG in cache.dependents


def test_a_list_leaves_other_kinds() -> None:
    cache = Cache()
    cache.see("Job", job())
    cache.replace_all("ConfigMap", [], 8)
    assert JOB in cache.dependents


def test_a_list_of_a_namespace_leaves_other_namespaces() -> None:
    cache = Cache()
    cache.see("Job", job())
    cache.replace_all("Job", [], 8, "elsewhere")
    assert JOB in cache.dependents


CONFLICTING = ObservedObject(CONFIG.key, "", "")
STIRS: dict[str, Callable[[Cache], set[Name]]] = {
    "changed": lambda cache: cache.see("ConfigMap", config(5, instance="other", owner="uid-else")),
    "deleted": lambda cache: cache.forget("ConfigMap", config(5, instance="other")),
    "not listed": lambda cache: cache.replace_all("ConfigMap", [], 9),
}


@pytest.mark.parametrize("stir", STIRS.values(), ids=STIRS)
def test_a_conflicting_object_that_changes_wakes_its_minicluster(stir: Callable[[Cache], set[Name]]) -> None:
    cache = Cache()
    cache.see("ConfigMap", config(1, instance="other"))
    cache.conflicts.add(MC, CONFIG, CONFLICTING)
    assert MC in stir(cache)


def test_a_conflicting_object_that_no_watch_reports_wakes_by_its_deletion() -> None:
    cache = Cache()
    cache.conflicts.add(MC, CONFIG, CONFLICTING)
    assert cache.forget("ConfigMap", config(5)) == {MC}


def test_a_conflicting_object_that_is_gone_is_forgotten() -> None:
    cache = Cache()
    cache.conflicts.add(MC, CONFIG, CONFLICTING)
    cache.conflicts.remove(MC, CONFIG)
    assert cache.conflicts == {}


def test_conflicting_objects_go_with_their_minicluster() -> None:
    cache = Cache()
    cache.see_cluster(minicluster())
    cache.conflicts.add(MC, CONFIG, CONFLICTING)
    cache.forget_cluster(minicluster())
    assert cache.conflicts == {}
