"""Whether broker pods are Guaranteed with whole CPUs, what is set for that, and what prevents it."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.plan import Observed, Site, plan

AMOUNTS = {"cpu": "2", "memory": "1Gi"}
WHOLE = {"limits": AMOUNTS}
ADVICE = ": give it requests equal to its limits, for CPU and memory, and whole CPUs to what runs Flux"


@pytest.fixture
def decide(make, keys, now):
    """Return the pod's spec and the condition of a MiniCluster that is not cut into smaller brokers."""

    def about(*containers: dict[str, Any], site=None, profile="network", view=None):
        site = site or Site(granularity="scale")
        several = len(containers) > 1
        members = [
            {"image": "app", "command": "x", **({"runFlux": True} if several and not index else {}), **each}
            for index, each in enumerate(containers)
        ]
        flux = {"container": {"disable": True} if view is None else view}
        spec = {"containers": members, "profile": profile, "flux": flux}
        first = plan(make(spec), Observed(), site, keys, now)
        again = plan(make(spec, status=first.status), Observed(), site, keys, now)
        (job,) = (each for each in again.objects if each["kind"] == "Job")
        (found,) = (each for each in again.status["conditions"] if each["type"] == "ExclusiveCores")
        warned = [each.message for each in first.events if each.reason == "NotGuaranteed"]
        return job["spec"]["template"]["spec"], (found["status"], found["reason"], found["message"]), warned

    return about


def test_a_pod_whose_container_has_limits_is_guaranteed(decide):
    """Requests are made of the limits."""
    pod, condition, warned = decide({"resources": WHOLE})
    assert pod["containers"][0]["resources"] == {"limits": AMOUNTS, "requests": AMOUNTS}
    assert condition == (
        "True",
        "Guaranteed",
        (
            "each broker pod is Guaranteed, with 2 whole CPUs: a kubelet with the static CPU manager gives it"
            " cores of its own"
        ),
    )
    assert warned == []


def test_a_limit_of_cpu_is_made_of_the_request(decide):
    pod, condition, _ = decide({"resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "2"}}})
    assert pod["containers"][0]["resources"] == {"limits": AMOUNTS, "requests": AMOUNTS}
    assert condition[0] == "True"


def test_the_init_container_of_the_view_gets_what_the_runner_has(decide):
    """It runs before, so that this costs nothing."""
    pod, condition, _ = decide({"resources": WHOLE}, view={})
    assert pod["initContainers"][0]["resources"] == {"limits": AMOUNTS, "requests": AMOUNTS}
    assert condition[0] == "True"


PREVENT = {
    "a sidecar without limits": (
        [{"resources": WHOLE}, {"name": "logger"}],
        "container logger has no limit of cpu and memory",
    ),
    "a sidecar with half of them": (
        [{"resources": WHOLE}, {"name": "logger", "resources": {"limits": {"cpu": "100m"}}}],
        "container logger has no limit of memory",
    ),
    "a sidecar that requests less": (
        [
            {"resources": WHOLE},
            {"name": "logger", "resources": {"limits": AMOUNTS, "requests": {"cpu": "500m"}}},
        ],
        "container logger requests 500m of cpu, its limit is 2",
    ),
    "the runner without memory": (
        [{"resources": {"limits": {"cpu": "2"}}}],
        "container flux has no limit of memory",
    ),
    "a request of memory is no limit": (
        [{"resources": {"limits": {"cpu": "2"}, "requests": {"memory": "1Gi"}}}],
        "container flux has no limit of memory",
    ),
    "the runner without anything": ([{}], "container flux has no limit of cpu and memory"),
    "a fraction of a CPU": (
        [{"resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}}],
        "container flux has 1500m of CPU, which is no whole number",
    ),
    "two of them": (
        [{"resources": WHOLE}, {"name": "a"}, {"name": "b"}],
        "container a has no limit of cpu and memory; container b has no limit of cpu and memory",
    ),
}


@pytest.mark.parametrize(("containers", "message"), PREVENT.values(), ids=PREVENT)
def test_the_condition_names_the_container_that_prevents_it(decide, containers, message):
    """Nothing is half done: such a pod gets no core of its own. An Event says it once."""
    _, condition, warned = decide(*containers)
    assert condition == ("False", "NotGuaranteed", f"{message}{ADVICE}")
    assert warned == [condition[2]]


def test_a_sidecar_with_limits_is_fine(decide):
    """Kubernetes takes its limits as its requests. Its CPU need not be whole."""
    amounts = {"cpu": "100m", "memory": "64Mi"}
    _, condition, _ = decide({"resources": WHOLE}, {"name": "logger", "resources": {"limits": amounts}})
    assert condition[0] == "True"


def test_a_view_with_amounts_of_its_own_keeps_them(decide):
    own = {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m"}}
    pod, condition, _ = decide({"resources": WHOLE}, view={"name": "flux-view", "resources": own})
    assert pod["initContainers"][0]["resources"]["requests"]["cpu"] == "500m"
    assert condition == (
        "False",
        "NotGuaranteed",
        f"container flux-view requests 500m of cpu, its limit is 1{ADVICE}",
    )


def test_a_view_that_is_a_volume_is_no_container(decide):
    site = Site(granularity="scale", image_volumes=True)
    pod, condition, _ = decide({"resources": WHOLE}, view={"resources": {"limits": {"cpu": "1"}}}, site=site)
    assert "initContainers" not in pod
    assert condition[0] == "True"


def test_io_is_not_pinned(decide):
    pod, condition, _ = decide({"resources": WHOLE}, profile="io")
    assert pod["containers"][0]["resources"] == WHOLE
    assert condition == ("False", "NotPinned", "brokers of the profile io are not pinned")
