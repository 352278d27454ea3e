"""The zips for real Flux's lead: one ConfigMap for the MiniClusters of a namespace, while there is one."""

import base64
from typing import Any

from minicluster import flux_zips
from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import KIND
from minicluster.plan.objects.names import FLUX_FILES
from tests.operator.cases import arm, collect, document
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import PATIENT, World, world

FILES = ObjectReference("ConfigMap", NAMESPACE, FLUX_FILES)
OTHER = ObjectReference(KIND, NAMESPACE, "other")
JOB = ObjectReference("Job", NAMESPACE, NAME)
ZIPS = {flux_zips.ZIP, flux_zips.SCHEDULER_ZIP}


def other() -> dict[str, Any]:
    return document() | {"metadata": {"name": OTHER.name, "namespace": NAMESPACE}}


async def two(here: World) -> None:
    """Make two MiniClusters."""
    await here.write(document())
    await here.write(other())
    await here.converge()


def has_zips(here: World, reference: ObjectReference) -> set[str]:
    return set(here.store.objects[reference].get("binaryData", {}))


def test_two_have_one() -> None:
    """It is written once; the MiniClusters' own ConfigMaps are small."""

    async def work() -> tuple[set[str], bytes, set[str], list[str]]:
        async with world() as here:
            await two(here)
            writes = [each.verb for each in here.api.writes if each.name == FLUX_FILES]
            packed = here.store.objects[FILES]["binaryData"][flux_zips.ZIP]
            own = has_zips(here, ObjectReference("ConfigMap", NAMESPACE, f"{NAME}-config"))
            return has_zips(here, FILES), base64.b64decode(packed), own, writes

    found, packed, own, writes = run(work())
    assert (found, own, writes) == (ZIPS, set(), ["create"])
    assert packed == flux_zips.pack()


def test_two_that_are_made_at_the_same_time_send_it_once() -> None:
    """It has half a megabyte; else the first sixteen of a namespace would send it each."""

    async def work() -> tuple[list[str], bool]:
        async with world() as here:
            here.api.latency = 0.1
            await here.write(document())
            await here.write(other())
            here.watches.deliver(KIND)
            await here.live(10)
            sent = [each.verb for each in here.api.writes if each.name == FLUX_FILES]
            return sent, {JOB, JOB._replace(name=OTHER.name)} <= here.store.objects.keys()

    assert run(work()) == (["create"], True)


def test_its_pods_have_them_beside_their_settings() -> None:
    """Those in the MiniCluster's own ConfigMap would win: an operator of 0.1.0 puts them there."""

    async def work() -> list[Any]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            volumes = here.store.objects[JOB]["spec"]["template"]["spec"]["volumes"]
            return [each["projected"] for each in volumes if each["name"] == "minicluster-config"]

    shared = {"name": FLUX_FILES, "items": [{"key": flux_zips.ZIP, "path": flux_zips.ZIP}]}
    sources = [{"configMap": shared}, {"configMap": {"name": f"{NAME}-config"}}]
    assert run(work()) == [{"sources": sources, "defaultMode": 0o555}]


def test_it_goes_after_the_last_of_them() -> None:
    async def work() -> list[bool]:
        async with world() as here:
            await two(here)
            found = []
            for each in (MINICLUSTER, OTHER):
                here.store.delete(each)
                await here.converge()
                found.append(FILES in here.store.objects)
            return found

    assert run(work()) == [True, False]


def test_it_goes_where_no_watch_reported_the_deletion() -> None:
    """The operator finds it out by a write that is refused."""

    async def work() -> bool:
        async with world() as here:
            await here.write(document())
            await here.restart()
            here.store.delete(MINICLUSTER)
            here.watches.relist(KIND)
            await here.converge()
            return FILES in here.store.objects

    assert not run(work())


def test_it_goes_though_the_api_server_fails_at_first() -> None:
    async def work() -> bool:
        async with world() as here:
            await two(here)
            for each in (MINICLUSTER, OTHER):
                here.store.delete(each)
            arm(here, "error", 0, 3, late=False)
            here.watches.deliver(KIND)
            await here.live(PATIENT)
            return FILES in here.store.objects

    assert not run(work())


def test_what_an_operator_left_goes_when_the_next_one_starts() -> None:
    """The last MiniCluster was deleted while none ran."""

    async def work() -> tuple[bool, bool]:
        async with world() as here:
            await two(here)
            await here.operator.end()
            for each in (MINICLUSTER, OTHER):
                here.store.delete(each)
            collect(here)
            left = FILES in here.store.objects
            here.begin()
            await here.converge()
            return left, FILES in here.store.objects

    assert run(work()) == (True, False)


def test_it_stays_for_one_that_the_operator_has_not_seen_yet() -> None:
    """The API server is asked before it is deleted."""

    async def work() -> bool:
        async with world() as here:
            await here.write(document())
            await here.converge()
            here.store.delete(MINICLUSTER)
            here.watches.deliver(KIND)
            await here.write(other())  # no watch has reported it
            await here.live(30)
            return FILES in here.store.objects

    assert run(work())


def test_one_that_somebody_deletes_is_made_again() -> None:
    async def work() -> set[str]:
        async with world() as here:
            await two(here)
            here.store.delete(FILES)
            await here.converge()
            return has_zips(here, FILES)

    assert run(work()) == ZIPS


def test_somebody_elses_of_that_name_is_named_and_left_alone() -> None:
    """It has no label of ours, so that no watch reports it. Once it is gone, the MiniCluster comes up."""
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": FLUX_FILES, "namespace": NAMESPACE},
        "data": {"mine": "x"},
    }

    async def work() -> tuple[Any, Any, bool]:
        async with world() as here:
            await here.api.as_manager("kubectl").create(theirs)
            await here.write(document())
            await here.converge()
            condition = next(
                each for each in here.contents.status["conditions"] if each["type"] == "ResourcesCreated"
            )
            data = here.store.objects[FILES]["data"]
            here.store.delete(FILES)
            await here.live(600)
            await here.converge()
            return condition, data, JOB in here.store.objects

    condition, data, healed = run(work())
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert condition["message"].startswith(f"ConfigMap {FLUX_FILES} ")
    assert (data, healed) == ({"mine": "x"}, True)


def test_pods_of_before_keep_theirs() -> None:
    """A Job's template cannot change: such a MiniCluster has the zips in its own ConfigMap, as in 0.1.0."""

    async def work() -> tuple[set[str], bool]:
        async with world() as here:
            await here.write(document())
            await here.converge()
            template = here.store.objects[JOB]["spec"]["template"]["spec"]
            plain = {"name": "minicluster-config", "configMap": {"name": f"{NAME}-config"}}
            template["volumes"] = [plain, *template["volumes"][1:]]
            here.store.delete(FILES)
            await here.restart()
            await here.converge()
            own = ObjectReference("ConfigMap", NAMESPACE, f"{NAME}-config")
            return has_zips(here, own), FILES in here.store.objects

    assert run(work()) == ({flux_zips.ZIP}, False)
