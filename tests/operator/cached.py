"""Objects that tests show a cache, the server's answers, and the contents of a cache."""

from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.operator.cache import Cache
from tests.operator.objects import NAMESPACE, Object, owned

MC = Name(NAMESPACE, "mc")
OTHER = Name(NAMESPACE, "other")
JOB = ObjectReference("Job", NAMESPACE, "mc")
CONFIG = ObjectReference("ConfigMap", NAMESPACE, "mc-config")


def config(version: int = 1, **more: str) -> Object:
    return owned("ConfigMap", "mc-config", version=version, **more)


def answer(item: Object, version: int) -> Object:
    """Return what the server answers to the application of an object."""
    return {"metadata": {**item["metadata"], "resourceVersion": str(version)}}


def contents(cache: Cache) -> tuple[object, ...]:
    known = cache.clusters, cache.dependents, cache.dependents.jobs, cache.pods, cache.conflicts
    return tuple(dict(each) for each in known)  # type: ignore[call-overload]


def going(pod: Object) -> Object:
    pod["metadata"]["deletionTimestamp"] = "2026-03-14T15:09:26Z"
    return pod
