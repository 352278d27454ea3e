"""The API server refuses what is beyond a bound at once, with the words of `minicluster validate`."""

import copy
from typing import Any

import pytest

from minicluster.document import messages, validate
from tests.devcluster import Api
from tests.kubernetes import operators

SPEC, CONTAINERS, SERVICES = "spec", "spec.containers", "spec.services"


def clusters(*sizes: int, **spec: Any) -> dict[str, Any]:
    """Return a spec with remote clusters of these sizes; 0: one without a size."""
    named = [{"name": f"b{index}"} | ({"size": size} if size else {}) for index, size in enumerate(sizes)]
    bursting = {"clusters": named, **spec.pop("bursting", {})}
    return {"flux": {"bursting": bursting}, **spec}


def resources(**kinds: dict[str, Any]) -> dict[str, Any]:
    """Return a spec whose container has these resources."""
    return {"containers": [{"image": "example.org/app:1", "command": "hostname", "resources": kinds}]}


def service(**kinds: dict[str, Any]) -> dict[str, Any]:
    """Return a spec with a service that has these resources."""
    return {"services": [{"name": "db", "image": "example.org/db:1", "resources": kinds}]}


def lead(size: int) -> dict[str, Any]:
    """Return what makes a MiniCluster join another one's lead broker."""
    return {"leadBroker": {"name": "other", "address": "192.0.2.1", "size": size}}


def document(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a document with these fields of its spec."""
    item: dict[str, Any] = copy.deepcopy(operators.DOCUMENT)
    item["metadata"] = {"name": "mc"}
    item["spec"].update(spec)
    return item


def create(api: Api, item: dict[str, Any]) -> None:
    """Have the API server check a document, and store nothing."""
    api.create(f"{operators.path('default')}?dryRun=All", item)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "remote hosts": (clusters(*[100_000] * 64), SPEC, messages.TOO_MANY_HOSTS),
    "hosts here and remote ones": (clusters(40_001, maxSize=60_000), SPEC, messages.TOO_MANY_HOSTS),
    "clusters as large as this one": (
        clusters(0, 0, size=40_000, maxSize=0),
        SPEC,
        messages.TOO_MANY_HOSTS,
    ),
    "clusters beside a lead": (clusters(2, bursting=lead(99_999)), SPEC, messages.TOO_MANY_HOSTS),
    "cores": (resources(limits={"cpu": 4_097}), CONTAINERS, messages.TOO_MANY_CORES),
    "cores as a text": (resources(limits={"cpu": "4096.5"}), CONTAINERS, messages.TOO_MANY_CORES),
    "cores by exponent": (resources(limits={"cpu": "9e99"}), CONTAINERS, messages.TOO_MANY_CORES),
    "cores of a request": (resources(requests={"cpu": "4097"}), CONTAINERS, messages.TOO_MANY_CORES),
    "cores of a service": (service(requests={"cpu": "4097"}), SERVICES, messages.TOO_MANY_CORES),
    "GPUs": (resources(limits={"nvidia.com/gpu": "1000000000"}), CONTAINERS, messages.TOO_MANY_GPUS),
    "GPUs by exponent": (resources(limits={"amd.com/gpu": "9e99"}), CONTAINERS, messages.TOO_MANY_GPUS),
    "GPUs of several kinds": (
        resources(limits={"nvidia.com/gpu.shared": 1_000, "nvidia.com/mig-1g.5gb": 25}),
        CONTAINERS,
        messages.TOO_MANY_GPUS,
    ),
    "GPUs of a service": (service(limits={"gpu.intel.com/i915": 1_025}), SERVICES, messages.TOO_MANY_GPUS),
}
ALLOWED: dict[str, dict[str, Any]] = {
    "hosts": clusters(40_000, maxSize=60_000),
    "clusters as large as this one": clusters(0, 0, 0, size=25_000, maxSize=0),
    "clusters beside a lead": clusters(1, bursting=lead(99_999)),
    "a list that has the local hosts too": {"maxSize": 4, "flux": {"bursting": {"hostlist": "mc-[0-99999]"}}},
    "cores": resources(limits={"cpu": 4_096}, requests={"cpu": "4096.0"}),
    "cores with a suffix": resources(limits={"cpu": "4000000m", "memory": "9E"}),
    "GPUs": resources(limits={"nvidia.com/gpu": 512, "amd.com/gpu": "512"}),
    "what only watches GPUs": resources(limits={"gpu.intel.com/i915_monitoring": 5_000}),
    "other devices": resources(limits={"example.org/fpga": 5_000}),
}


@pytest.mark.parametrize(("spec", "where", "message"), REFUSED.values(), ids=REFUSED)
def test_more_than_there_may_be_is_refused_at_once(
    api: Api, spec: dict[str, Any], where: str, message: str
) -> None:
    words = operators.refusal(lambda: create(api, document(spec)))
    assert f"is invalid: {where}: Invalid value: " in words
    assert words.endswith(message)


@pytest.mark.parametrize("spec", ALLOWED.values(), ids=ALLOWED)
def test_the_bound_itself_is_allowed(api: Api, spec: dict[str, Any]) -> None:
    """No rule of the API server's is stricter than the validator's."""
    validate(document(spec))
    create(api, document(spec))
