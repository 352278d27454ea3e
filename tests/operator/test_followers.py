"""An operator's followers of another MiniCluster's lead: it asks nobody for a report, and makes no keys."""

from pathlib import Path

from minicluster.kube_client.objects import Name
from minicluster.operator.cache import Cache
from tests.operator import objects
from tests.operator.cases import document
from tests.operator.contents import NAME
from tests.operator.field_sets import Object
from tests.operator.listening import UID, in_loop, listening
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import KEYS, World, world

LEAD = {"address": "192.0.2.10", "name": "near", "size": 2}
FOLLOWS = {"flux": {"bursting": {"leadBroker": LEAD}}, "autoscaling": {}}


async def made(here: World) -> None:
    await here.write(document(**FOLLOWS))
    await here.converge()


def conditions(status: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_they_wait_for_their_pods_and_for_no_lead() -> None:
    async def work() -> tuple[set[str], Object]:
        async with world() as here:
            await made(here)
            kinds = {each.kind for each in here.store.objects} - {"Pod", "Event", "MiniCluster"}
            return kinds, here.contents.status

    kinds, status = run(work())
    assert kinds == {"Secret", "ConfigMap", "NetworkPolicy", "Job"}
    found = conditions(status)
    assert found["BrokersReady"] == ("False", "PodsStarting")
    assert found["Autoscaling"] == ("False", "HeldBack")


def test_another_operator_writes_nothing_again_and_makes_no_keys() -> None:
    async def work() -> tuple[list[str], int]:
        async with world() as here:
            await made(here)
            begin, before = len(here.api.writes), KEYS.index(next(here.keys))
            await here.restart()
            await here.converge()
            taken = (KEYS.index(next(here.keys)) - before - 1) % len(KEYS)  # they come in turn
            return [str(each) for each in here.api.writes[begin:]], taken

    assert run(work()) == ([], 0)


@in_loop
async def test_no_pod_of_theirs_is_a_lead(tmp_path: Path) -> None:
    async with listening(tmp_path) as (here, fake_lead):
        cluster = objects.minicluster(uid=UID, version=9, maxSize=4)
        here.cache.see_cluster({**cluster, "spec": {**cluster["spec"], **FOLLOWS}})
        here.pod()
        assert here.cache.own_pods(Name(NAMESPACE, NAME)).lead is None
        assert fake_lead.requests == []


def test_without_a_document_no_pod_is_a_lead() -> None:
    assert Cache().own_pods(Name(NAMESPACE, NAME)).lead is None
