"""What becomes of the API server's refusals, and of answers that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.errors import (
    AccessDenied,
    AccountLimitReached,
    CallInvalid,
    NameTaken,
    ProviderError,
    RetryLater,
)
from burst.lifecycle.records import ResourcePhase
from tests.burst.providers.kubernetes.fake_api import NAMESPACE, Refusal

if TYPE_CHECKING:
    from tests.burst.providers.kubernetes.conftest import FarCluster

QUOTA = 'jobs.batch "mcb-x" is forbidden: exceeded quota: small, requested: count/jobs.batch=1'
REFUSALS = {
    "unauthorized": ((Refusal(401, "Unauthorized"),) * 2, AccessDenied, "Unauthorized"),
    "forbidden": ((Refusal(403, "jobs is forbidden"),), AccessDenied, "jobs is forbidden"),
    "quota": ((Refusal(403, QUOTA, "Forbidden"),), AccountLimitReached, "exceeded quota: small"),
    "webhook": ((Refusal(403, "admission webhook x denied the request"),), CallInvalid, "webhook x denied"),
    "no-namespace": ((Refusal(404, 'namespaces "bursts" not found'),), CallInvalid, "not found"),
    "conflict": ((Refusal(409, "try again", "Conflict"),), RetryLater, "try again"),
    "invalid": ((Refusal(422, "spec.x: Invalid value", "Invalid"),), CallInvalid, "Invalid value"),
    "too-many": ((Refusal(429, "slow down", retry_after=7),), RetryLater, "slow down"),
    "server-error": ((Refusal(500, "etcd leader changed"),), RetryLater, "etcd leader changed"),
    "unavailable": ((Refusal(503, "starting", retry_after=3),), RetryLater, "starting"),
    "no-answer": ((Refusal(0, lost=True),), RetryLater, "no answer"),
    "going": ((Refusal(403, "namespace bursts is being terminated"),), RetryLater, "being terminated"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_creation(far: FarCluster, name: str) -> None:
    refusals, error, message = REFUSALS[name]
    far.api.fail("POST", "jobs", *refusals)
    with pytest.raises(error, match=message) as raised:
        far.create()
    assert type(raised.value) is error
    after = max(each.retry_after for each in refusals)
    assert getattr(raised.value, "after", 0.0) == after
    far.create()
    assert far.get().phase is ResourcePhase.READY


@pytest.mark.parametrize("plural", ["configmaps", "secrets", "networkpolicies", "jobs"])
@pytest.mark.parametrize("effect", [False, True], ids=["before", "after"])
def test_a_creation_whose_answer_is_lost_is_made_once(far: FarCluster, plural: str, effect: bool) -> None:
    far.api.fail("POST", plural, Refusal(0, lost=True, takes_effect=effect))
    with pytest.raises(RetryLater):
        far.create()
    far.create()
    assert far.get().phase is ResourcePhase.READY
    assert [len(far.api.of(each)) for each in ("jobs", "secrets", "pods")] == [1, 1, 2]
    far.delete()
    assert far.get().phase is ResourcePhase.ABSENT
    assert list(far.provider.owned("here")) == []


def test_a_burst_that_is_not_wholly_made_is_made_again_or_deleted(far: FarCluster) -> None:
    far.api.fail("POST", "jobs", Refusal(403, QUOTA))
    with pytest.raises(AccountLimitReached):
        far.create()
    assert far.get().phase is ResourcePhase.ABSENT
    [left] = far.provider.owned("here")
    assert (left.phase, left.key.nodes, left.reason) == (ResourcePhase.BROKEN, 2, "its Job is not there")
    far.delete()
    assert list(far.provider.owned("here")) == []
    assert far.api.of("secrets") == []


@pytest.mark.parametrize("call", ["get", "delete"])
def test_other_calls_fail_alike(far: FarCluster, call: str) -> None:
    far.create()
    far.api.fail("GET", "jobs", Refusal(429, "slow down", retry_after=7))
    with pytest.raises(RetryLater, match="slow down") as raised:
        getattr(far, call)()
    assert raised.value.after == 7


def test_a_refused_listing_is_no_empty_one(far: FarCluster) -> None:
    far.create()
    far.api.fail("GET", "pods", Refusal(403, "pods is forbidden"))
    with pytest.raises(AccessDenied, match="pods is forbidden"):
        far.provider.owned("here")


def test_a_lost_answer_to_a_deletion(far: FarCluster) -> None:
    far.create()
    # The client tries what may be repeated once more by itself.
    far.api.fail("DELETE", "configmaps", *[Refusal(0, lost=True, takes_effect=True)] * 2)
    with pytest.raises(RetryLater):
        far.delete()
    far.delete()
    assert far.get().phase is ResourcePhase.ABSENT


def test_an_object_of_somebody_else_in_the_midst_is_left_alone(far: FarCluster) -> None:
    far.create()
    taken = f"/api/v1/namespaces/{NAMESPACE}/secrets/mcb-62dgmfw4gk-curve"
    far.delete()
    far.api.add(taken, {"kind": "Secret", "metadata": {"name": "mcb-62dgmfw4gk-curve"}})
    with pytest.raises(NameTaken, match="Secret mcb-62dgmfw4gk-curve is there, and not of this burst"):
        far.create()
    far.delete()
    assert taken in far.api.items
    assert list(far.provider.owned("here")) == []


def test_what_of_the_former_anchor_is_left_delays_a_creation(far: FarCluster) -> None:
    far.create()
    anchor = f"/api/v1/namespaces/{NAMESPACE}/configmaps/mcb-62dgmfw4gk"
    del far.api.items[anchor]
    assert far.get().phase is ResourcePhase.GOING
    with pytest.raises(RetryLater, match="Secret mcb-62dgmfw4gk-curve of this burst is being deleted"):
        far.create()
    del far.api.items[anchor]
    far.delete()
    assert list(far.provider.owned("here")) == []


def test_what_hangs_on_nothing_is_deleted_as_well(far: FarCluster) -> None:
    """As a pod that was orphaned by hand."""
    far.create()
    [pod, _] = far.api.of("pods")
    far.delete()
    about = {key: value for key, value in pod["metadata"].items() if key != "ownerReferences"}
    far.api.add(f"/api/v1/namespaces/{NAMESPACE}/pods/{about['name']}", {**pod, "metadata": about})
    assert (far.get().phase, far.get().reason) == (
        ResourcePhase.BROKEN,
        "1 Pod are left, and hang on nothing",
    )
    far.delete()
    assert far.get().phase is ResourcePhase.ABSENT


def test_a_pod_s_log_has_the_reason_why_a_broker_has_not_joined(far: FarCluster) -> None:
    far.create()
    far.api.log = "<6>broker.info[2]: begins\n<3>overlay.err[2]: overlay.hello: Invalid argument\n"
    assert far.provider.broker_problem(far.wanted) == "overlay.err[2]: overlay.hello: Invalid argument"
    [pod, _] = far.api.of("pods")
    far.api.fail("GET", pod["metadata"]["name"], Refusal(403, "pods/log is forbidden"))
    assert far.provider.broker_problem(far.wanted) == ""


def test_no_error_has_the_certificate_or_the_token(far: FarCluster) -> None:
    far.api.fail("POST", "secrets", Refusal(422, "data: Invalid value", "Invalid"))
    with pytest.raises(ProviderError) as raised:
        far.create()
    assert "nobody-may-read" not in f"{raised.value!r} {raised.value.__cause__!r}"
    assert "two keys" not in f"{raised.value!r} {raised.value.__cause__!r}"


def test_a_machine_that_is_not_offered_is_refused_before_anything_is_made(far: FarCluster) -> None:
    wanted = far.wanted._replace(machine="h100")
    with pytest.raises(CallInvalid, match="provider far has no machine 'h100', but c8"):
        far.provider.create(far.key, "token", wanted)
    with pytest.raises(CallInvalid, match="4 nodes of c8: at most 3 are offered"):
        far.provider.create(far.key, "token", far.wanted._replace(nodes=4))
    assert far.api.requests == []


def test_a_burst_whose_time_is_over_is_not_made(far: FarCluster) -> None:
    with pytest.raises(CallInvalid, match="burst 62dgmfw4gk was to end 100 s ago"):
        far.provider.create(far.key, "token", far.wanted._replace(until=far.wanted.until - 700))
    assert far.api.of("configmaps") == []
