"""What stands in a MiniCluster's way ends in a condition that says so, and when it is gone, all is well."""

from collections.abc import Callable

import pytest

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.operator.records import PodWarning
from minicluster.plan.constants import KIND
from minicluster.plan.objects.names import FLUX_FILES
from tests.operator import memory_jobs
from tests.operator.cases import AUTOSCALER, NAMES, document, rest, undisturbed
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.field_sets import Object
from tests.operator.memory_api import Request
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

MADE = ("Secret", "ConfigMap", "Service", "NetworkPolicy", "PodDisruptionBudget", "Job")


def condition(here: World, type_: str = "ResourcesCreated", name: str = NAME) -> tuple[str, str, str]:
    """Return status, reason and message of a condition."""
    status = here.store.objects[ObjectReference(KIND, NAMESPACE, name)]["status"]
    (found,) = (each for each in status["conditions"] if each["type"] == type_)
    return found["status"], found["reason"], found["message"]


def refusing(kind: str, error: ApiError) -> Callable[[Request], ApiError | None]:
    return lambda request: error if request.kind == kind and request.verb in {"create", "apply"} else None


QUOTA = "is forbidden: exceeded quota: few, requested: pods=2, used: pods=9, limited: pods=10"
ERRORS = {
    "a quota": ApiError(403, "Forbidden", QUOTA),
    "a webhook": ApiError(400, "BadRequest", "admission webhook denied the request: not on Fridays"),
    "a server that is busy for hours": ApiError(429, "TooManyRequests", "try again later", 1.0),
    "a server that fails for hours": ApiError(500, "InternalError", "etcdserver: no leader"),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_what_is_refused_is_reported_and_heals(kind: str, error: ApiError) -> None:
    """In the server's words, with the object's name; when it is taken at last, nothing is left of that."""

    async def work() -> tuple[tuple[str, str, str], Object]:
        async with world() as here:
            here.api.refusals.append(refusing(kind, error))
            await here.write(document())
            await here.converge()
            reported = condition(here)
            here.api.refusals.clear()
            return reported, await rest(here)

    (status, reason, message), state = run(work())
    assert (status, reason) == ("False", "Refused")
    name = FLUX_FILES if kind == "ConfigMap" else NAME
    assert message.startswith(f"{kind} {name}")
    assert error.message in message
    assert state == undisturbed("plain", (), 0)[0]


@pytest.mark.parametrize("key", NAMES, ids=lambda key: key[0])
def test_somebody_elses_object_is_left_alone(key: tuple[str, str]) -> None:
    """The condition names it; when it is gone, the MiniCluster gets its own."""

    async def work() -> tuple[tuple[str, str, str], Object]:
        async with world() as here:
            here.conflicting.occupy(*key)
            await here.write(document())
            await here.converge()
            reported = condition(here)
            return reported, await rest(here)

    (status, reason, message), state = run(work())
    assert (status, reason) == ("False", "NameTaken")
    assert " ".join(key) in message
    assert state == undisturbed("plain", (), 0)[0]


def test_somebody_elses_autoscaler_is_left_alone_and_keeps_nothing_back() -> None:
    """Also the pods are there; when it is gone, the MiniCluster gets its own."""

    async def work() -> tuple[tuple[str, str, str], tuple[str, str, str], Object]:
        async with world() as here:
            here.conflicting.occupy(*AUTOSCALER)
            await here.write(document(autoscaling={}))
            await here.converge()
            reported, resources = condition(here, "Autoscaling"), condition(here)
            return reported, resources, await rest(here)

    reported, resources, state = run(work())
    assert reported[:2] == ("False", "NameTaken")
    assert "HorizontalPodAutoscaler mc belongs to somebody else" in reported[2]
    assert resources[:2] == ("True", "Created")
    assert state == undisturbed("autoscaled", (), 0)[0]


def test_somebody_elses_autoscaler_is_no_concern_of_a_document_that_wants_none() -> None:
    """Once `autoscaling` was taken out of it, nobody looks at that again."""

    async def work() -> tuple[list[str], bool]:
        async with world() as here:
            here.conflicting.occupy(*AUTOSCALER)
            await here.write(document(autoscaling={}))
            await here.converge()
            here.edit({"autoscaling": None})
            await here.converge()
            before = len(here.api.requests)
            await here.live(3600)
            here.conflicting.check()
            return [str(each) for each in here.api.requests[before:]], here.conflicting.items != {}

    assert run(work()) == ([], True)


def test_an_autoscaler_that_is_refused_keeps_nothing_back() -> None:
    """By an admission webhook, for example."""

    async def work() -> tuple[tuple[str, str, str], tuple[str, str, str], Object]:
        async with world() as here:
            here.api.refusals.append(refusing(AUTOSCALER[0], ERRORS["a webhook"]))
            await here.write(document(autoscaling={}))
            await here.converge()
            reported, resources = condition(here, "Autoscaling"), condition(here)
            here.api.refusals.clear()
            return reported, resources, await rest(here)

    reported, resources, state = run(work())
    assert reported[:2] == ("False", "Refused")
    assert ERRORS["a webhook"].message in reported[2]
    assert resources[:2] == ("True", "Created")
    assert state == undisturbed("autoscaled", (), 0)[0]


AFTERWARDS = {"taken out": {"autoscaling": None}, "suspended": {"suspend": True}}


@pytest.mark.parametrize("change", AFTERWARDS.values(), ids=AFTERWARDS)
def test_an_autoscaler_that_has_no_use_is_deleted_and_comes_again(change: Object) -> None:
    async def work() -> list[bool]:
        async with world() as here:
            await here.write(document(autoscaling={}))
            found = []
            for spec in ({}, change, {"autoscaling": {}, "suspend": False}):
                here.edit(spec)
                await here.converge()
                found.append(ObjectReference(AUTOSCALER[0], NAMESPACE, NAME) in here.store.objects)
            return found

    assert run(work()) == [True, False, True]


def test_of_two_that_want_one_service_the_first_has_it() -> None:
    """The other says whose it is."""

    async def work() -> tuple[tuple[str, str, str], tuple[str, str, str]]:
        async with world() as here:
            await here.write(document(network={"headlessName": "shared"}))
            await here.converge()
            second = document(network={"headlessName": "shared"})
            second["metadata"]["name"] = "second"
            await here.write(second)
            await here.converge()
            return condition(here), condition(here, name="second")

    first, second = run(work())
    assert first[:2] == ("True", "Created")
    assert second[:2] == ("False", "NameTaken")
    assert "Service shared" in second[2]
    assert f"{KIND} {NAME}" in second[2]


def test_in_a_namespace_that_ends_nothing_is_made() -> None:
    async def work() -> tuple[tuple[str, str, str], list[str]]:
        async with world() as here:
            await here.write(document())
            here.store.terminate_namespace(NAMESPACE)
            await here.converge()
            return condition(here), [reference.kind for reference in here.store.objects]

    reported, kinds = run(work())
    assert reported[:2] == ("False", "Refused")
    assert "because it is being terminated" in reported[2]
    assert kinds == [KIND]


def test_what_another_controller_manages_is_left_alone() -> None:
    async def work() -> list[str]:
        async with world() as here:
            await here.write(document(managedBy="example.org/other"))
            await here.converge()
            return [str(each) for each in here.api.requests]

    assert run(work()) == []


def test_a_deletion_leaves_nothing() -> None:
    """But what was told of it: Events go by themselves."""

    async def work() -> set[str]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            here.store.delete(MINICLUSTER)
            await here.converge()
            return {reference.kind for reference in here.store.objects}

    assert run(work()) <= {"Event"}


def test_a_deletion_that_no_watch_reported_is_found_out() -> None:
    """kopf does not tell of those that fell into a gap: what is gone must not be made again for ever."""

    async def work() -> list[str]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            here.store.delete(MINICLUSTER)
            here.watches.relist(KIND)
            before = len(here.api.writes)
            await here.converge()
            return [str(each) for each in here.api.writes[before:]]

    assert run(work()) == [f"delete ConfigMap {FLUX_FILES}"]


def test_a_status_is_written_at_most_once_a_second() -> None:
    """However much happens: 40 pods that start within 4 s."""

    async def work() -> int:
        async with world() as here:
            await here.write(document(size=40, maxSize=40))
            await here.converge()
            before = len(here.api.writes)
            for index in range(40):
                memory_jobs.run_pod(here.store, NAMESPACE, NAME, index)
                here.watches.deliver("Pod")
                await here.live(0.1)
            return sum(each.subresource == "status" for each in here.api.writes[before:])

    assert 1 <= run(work()) <= 5


def test_a_settled_minicluster_costs_no_request() -> None:
    """Neither a read nor a write, for an hour."""

    async def work() -> list[str]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            before = len(here.api.requests)
            await here.live(3600)
            return [str(each) for each in here.api.requests[before:]]

    assert run(work()) == []


def test_retries_are_spaced() -> None:
    """A server that refuses for an hour is asked about once a minute."""

    async def work() -> int:
        async with world() as here:
            here.api.refusals.append(refusing("ConfigMap", ERRORS["a quota"]))
            await here.write(document())
            await here.converge()
            before = len(here.api.requests)
            await here.live(3600)
            return len([each for each in here.api.requests[before:] if each.kind == "ConfigMap"])

    assert 55 <= run(work()) <= 65


def test_pods_that_are_refused_are_reported_once_and_heal(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words of the Job's Event; the same words again are no write."""
    why = 'pods "mc-…" is forbidden: error looking up service account science/none'

    async def work() -> tuple[list[tuple[str, str, str]], list[Request], int]:
        async with world() as here:
            with monkeypatch.context() as patched:
                patched.setattr(here, "start_job", lambda: None)
                await here.write(document())
                await here.converge()
                uid = here.store.objects[ObjectReference("Job", NAMESPACE, NAME)]["metadata"]["uid"]
                assert here.operator.cache.warn(Name(NAMESPACE, NAME), PodWarning(uid, "FailedCreate", why))
                here.operator.controller.changed(Name(NAMESPACE, NAME))
                await here.converge()
                reported = [condition(here, "PodsScheduled")]
                before = len(here.api.writes)
                here.operator.controller.changed(Name(NAMESPACE, NAME))
                await here.converge()
                again = here.api.writes[before:]
            await here.converge()
            found = here.store.find("Event", NAMESPACE)
            sent = sum(why in each["message"] for each in found)
            return [*reported, condition(here, "PodsScheduled")], again, sent

    (refused, healed), again, sent = run(work())
    assert refused == (
        "False",
        "Refused",
        f"0 of 3 pods have a node; 3 cannot be made: {why} (it is tried again)",
    )
    assert (again, sent) == ([], 1)
    assert healed[1] != "Refused"
