"""Whatever goes wrong on the way, an instance is saved before its pods go, and nothing stays for ever.

A case is a schedule: suspended and resumed, resized, deleted and made anew, jobs that begin and end, saves
that fail, hang, or end the lead before anybody has looked, writes that fail, operators that die.
"""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minicluster.plan.constants import FINALIZER, KIND
from tests.operator import memory_jobs
from tests.operator.archived import JOB, Instance, play
from tests.operator.cases import Step, deliver_all
from tests.operator.contents import MINICLUSTER, NAME
from tests.operator.faults import FAULTS
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import world

ranks = st.integers(0, 3)
few = st.integers(0, 8)
SECOND: Step = ("second",)
DOINGS = st.one_of(
    st.tuples(st.just("suspend"), st.booleans()),
    st.tuples(st.just("delete")),
    st.tuples(st.just("create")),
    st.tuples(st.just("size"), st.integers(1, 4)),
)
EVENTS = st.one_of(
    st.tuples(st.just("begin"), ranks),
    st.tuples(st.just("finish"), ranks),
    st.tuples(st.just("breaks"), st.booleans()),
    st.tuples(st.just("hangs"), st.booleans()),
    st.tuples(st.just("deaf"), st.booleans()),
    st.tuples(st.just("restart")),
    st.tuples(st.just("fault"), st.sampled_from(list(FAULTS)), few, st.integers(1, 3), st.booleans()),
    st.tuples(st.just("latency"), st.sampled_from([0.0, 0.1])),
    st.just(("minute",)),
)
SECONDS = st.just(SECOND)
SCHEDULES = st.lists(st.one_of(DOINGS, EVENTS, EVENTS, SECONDS, SECONDS, SECONDS), max_size=30)
LATE = st.one_of(
    st.tuples(st.just("tell"), st.sampled_from([KIND, "Pod", "Job"]), few),
    st.tuples(st.just("gap")),
    st.tuples(st.just("live"), st.sampled_from([0.3, 2.0, 100.0])),
    st.tuples(st.just("job")),
    st.tuples(st.just("garbage")),
)
LATE_SCHEDULES = st.lists(st.one_of(DOINGS, EVENTS, LATE, LATE, SECONDS), max_size=30)


@pytest.mark.timeout(900)
@given(SCHEDULES)
@example([("suspend", True), SECOND, SECOND, ("restart",), SECOND, SECOND, SECOND])
@example([("suspend", True), SECOND, SECOND, ("delete",), SECOND, SECOND, SECOND])
@example([("breaks", True), ("delete",), ("minute",), ("minute",), ("minute",), ("minute",)])
@example([("hangs", True), ("delete",), ("minute",), ("minute",), ("minute",), ("minute",)])
def test_no_pod_goes_before_it_is_saved(schedule: list[Step]) -> None:
    """But where that was tried for as long as a deletion may take."""
    run(play(schedule))


@pytest.mark.timeout(900)
@given(LATE_SCHEDULES)
def test_nothing_stays_for_ever_however_late_the_news(schedule: list[Step]) -> None:
    run(play(schedule, watched=False))


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("late", [False, True], ids=["before it is done", "after it"])
@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("doing", [("suspend", True), ("delete",)], ids=["suspend", "delete"])
def test_each_single_write_of_a_save_may_go_wrong(doing: Step, which: int, late: bool, what: str) -> None:
    """The first is the status that says that it began."""
    seconds = [SECOND] * 14
    instance = run(
        play([("begin", 1), SECOND, doing, ("fault", what, which, 1, late), *seconds, ("finish", 1)])
    )
    assert instance.here.lead.saves == 1


@pytest.mark.parametrize("doing", [("suspend", True), ("delete",)], ids=["suspend", "delete"])
def test_the_status_names_where_it_was_saved(doing: Step) -> None:
    instance = run(play([doing]))
    assert ("Saved", "2 jobs saved to /archive/mc.tgz (101 bytes)") in instance.notes
    assert [reason for reason, _ in instance.notes].count("Saved") == 1


def test_the_status_keeps_the_last_dump() -> None:
    instance = run(play([("suspend", True)]))
    dump = dict(instance.here.contents.status["lastDump"])
    assert dump.pop("time")
    assert dump == {"path": "/archive/mc.tgz", "bytes": 101, "jobs": 2, "restarted": 0, "lost": 0}


def test_a_save_that_fails_suspends_nothing() -> None:
    async def work() -> tuple[Any, ...]:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            here.lead.broken = True
            instance.suspend(True)
            for _ in range(10):
                await instance.second()
            before_rest = instance.suspended, here.store.objects[JOB]["spec"]["suspend"], instance.notes[-1]
            await instance.rest()
            return *before_rest, instance.suspended, here.lead.saves

    before, suspended, (reason, note), after, saves = run(work())
    assert (before, suspended, reason) == (("False", "SaveFailed"), False, "SaveFailed")
    assert note.startswith(
        "nothing was saved to /archive/mc.tgz: no space left on device; it is tried again at"
    )
    assert (after, saves) == (("True", "Suspended"), 1)


def test_without_an_archive_nothing_is_saved() -> None:
    """And there is no finalizer: such a MiniCluster costs no write more than before."""

    async def work() -> tuple[Any, ...]:
        async with world() as here:
            instance = Instance(here)
            del instance.written["spec"]["archive"]
            await instance.begin()
            finalizers = instance.about.get("finalizers")
            instance.delete()
            return finalizers, MINICLUSTER in here.store.objects, here.lead.orders

    assert run(work()) == (None, False, [])


def test_the_finalizer_is_there_before_any_pod_can_be() -> None:
    async def work() -> list[str]:
        async with world() as here:
            await Instance(here).begin()
            return [str(each) for each in here.api.writes if each.kind in {KIND, "Job"}]

    assert run(work())[:2] == [f"patch {KIND} {NAME}", f"create Job {NAME}"]


def test_others_finalizers_stay() -> None:
    async def work() -> list[str]:
        async with world() as here:
            instance = Instance(here)
            instance.written["metadata"]["finalizers"] = ["example.org/first"]
            await instance.begin()
            there = list(instance.about["finalizers"])
            instance.delete()
            for _ in range(20):
                await instance.second()
            return [*there, "then", *instance.about["finalizers"]]

    assert run(work()) == ["example.org/first", FINALIZER, "then", "example.org/first"]


@pytest.mark.parametrize("how", ["before its pods run", "suspended", "its Job is gone", "ended"])
def test_where_there_is_nothing_to_save_it_goes_at_once(how: str) -> None:
    async def work() -> tuple[bool, list[str], int]:
        async with world() as here:
            instance = Instance(here, **({"suspend": True} if how == "suspended" else {}))
            if how == "before its pods run":
                await instance.create()
                deliver_all(here)
                await here.live(1.1)
            else:
                await instance.begin()
            if how == "its Job is gone":  # as by --cascade=foreground
                here.store.delete(JOB)
                here.store.collect_garbage()
                here.store.delete(MINICLUSTER)
            if how == "ended":
                memory_jobs.end_pod(here.store, NAMESPACE, NAME, 0, 0, "0")
                memory_jobs.complete_job(here.store, NAMESPACE, NAME)
            instance.delete()
            for _ in range(2):
                deliver_all(here)
                await here.live(1.1)
            warned = [reason for reason, _ in instance.notes if reason == "NotSaved"]
            return MINICLUSTER in here.store.objects, warned, len(here.lead.orders)

    assert run(work()) == (False, [], 0)


def test_one_that_ended_needs_no_operator_to_be_deleted() -> None:
    """Its finalizer goes with its end."""

    async def work() -> Object:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            memory_jobs.end_pod(here.store, NAMESPACE, NAME, 0, 3, "3")
            memory_jobs.fail_job(here.store, NAMESPACE, NAME, 3)
            for _ in range(3):
                await instance.second()
            return instance.about.get("finalizers") or []

    assert run(work()) == []


def test_a_document_that_became_invalid_can_be_deleted() -> None:
    async def work() -> bool:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            here.edit({"size": -1})
            await instance.second()
            instance.delete()
            for _ in range(3):
                await instance.second()
            return MINICLUSTER in here.store.objects

    assert not run(work())


def test_what_another_controller_takes_over_is_released() -> None:
    async def work() -> Object:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            here.edit({"managedBy": "example.org/other"})
            await instance.second()
            return instance.about.get("finalizers") or []

    assert run(work()) == []


def test_kueue_suspends_and_what_the_lead_then_saves_is_reported() -> None:
    """The Job is not ours to suspend: the lead saves on SIGTERM, in its grace period, and its pod goes."""

    async def work() -> tuple[Any, ...]:
        async with world() as here:
            instance = Instance(here, jobLabels={"kueue.x-k8s.io/queue-name": "q"})
            await instance.create()
            deliver_all(here)
            await here.live(1.1)
            kueue = here.api.as_manager("kueue")
            kueue.store.patch(JOB, {"spec": {"suspend": False}}, "kueue")
            for _ in range(4):
                await instance.second()
            kueue.store.patch(JOB, {"spec": {"suspend": True}}, "kueue")
            here.lead.refresh()
            here.lead._save()
            for _ in range(4):
                await instance.second()
            return (
                instance.suspended,
                here.contents.status["lastDump"]["bytes"],
                [one for one, _ in instance.notes],
            )

    suspended, size, reasons = run(work())
    assert (suspended, size) == (("True", "Queued"), 101)
    assert reasons.count("Saved") == 1


def test_jobs_that_could_not_finish_are_named() -> None:
    """Those of the lead's last words; of many the first."""

    async def work() -> str:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            words = (
                '{"saved": "/archive/mc.tgz", "bytes": 5, "jobs": 1, "restarted": [["ƒa", "ƒb"]],'
                ' "lost": [["ƒc", "no copy"]], "restarted_total": 3, "lost_total": 1}'
            )
            memory_jobs.end_pod(here.store, NAMESPACE, NAME, 0, 75, words)
            await instance.second()
            (found,) = (each for each in here.store.find("Event") if each["reason"] == "Saved")
            return f"{found['type']}: {found['message']}"

    assert run(work()) == (
        "Warning: 1 job saved to /archive/mc.tgz (5 bytes); started again: ƒa as ƒb, 2 more;"
        " lost: ƒc (no copy)"
    )


async def endure(doing: Step, trouble: str, seconds: float) -> tuple[Any, ...]:
    """Ask for a save that comes to nothing; return what there is after so many seconds, and what was told."""
    async with world() as here:
        instance = Instance(here)
        await instance.begin()
        here.lead.work(1)
        setattr(here.lead, trouble, True)
        if trouble == "broken":
            here.lead.finish(1)
        await instance.take(doing)
        begin = here.store.clock.now
        while (here.store.clock.now - begin).total_seconds() < seconds:
            await instance.second()
        job = here.store.objects.get(JOB, {"spec": {"suspend": None}})["spec"]["suspend"]
        return (
            MINICLUSTER in here.store.objects,
            job,
            [note for reason, note in instance.notes if reason == "NotSaved"],
        )


WAITED = "nothing is known to be saved to /archive/mc.tgz after 180 s"
SILENT_LEAD = "the lead API does not answer: connection refused"
DELETED = "the MiniCluster is deleted all the same, and what the lead does not save by itself is lost"
SUSPENDED_ANYWAY = "its pods are told to go all the same, and what the lead does not save by itself is lost"


@pytest.mark.parametrize(
    ("doing", "trouble", "message"),
    [
        pytest.param(("delete",), "hangs", f"{WAITED}; {DELETED}", id="deleted, hangs"),
        pytest.param(("delete",), "deaf", f"{WAITED} ({SILENT_LEAD}); {DELETED}", id="deleted, not heard"),
        pytest.param(
            ("delete",), "broken", f"{WAITED} (no space left on device); {DELETED}", id="deleted, fails"
        ),
        pytest.param(
            ("suspend", True),
            "deaf",
            f"{WAITED} ({SILENT_LEAD}); {SUSPENDED_ANYWAY}",
            id="suspended, not heard",
        ),
    ],
)
def test_what_is_waited_for_no_longer(doing: Step, trouble: str, message: str) -> None:
    """A deletion for nothing, a suspension for a lead of which nothing is heard."""
    there, suspended, notes = run(endure(doing, trouble, 170))
    assert (there, suspended, notes) == (True, False, [])
    there, suspended, notes = run(endure(doing, trouble, 190))
    assert (there, suspended, notes) == (doing[0] == "suspend", True if there else None, [message])


@pytest.mark.parametrize("trouble", ["hangs", "broken"])
def test_a_suspension_waits_as_long_as_the_lead_reports(trouble: str) -> None:
    assert run(endure(("suspend", True), trouble, 1000)) == (True, False, [])


@pytest.mark.parametrize("doing", [("suspend", True), ("delete",)], ids=["suspend", "delete"])
def test_a_lead_that_dies_over_it(doing: Step) -> None:
    async def work() -> list[str]:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            here.lead.work(1)
            await instance.take(doing)
            await instance.second()
            await instance.second()
            memory_jobs.end_pod(here.store, NAMESPACE, NAME, 0, 137, "137")
            deliver_all(here)
            await here.live(1.1)
            return [note for reason, note in instance.notes if reason == "NotSaved"]

    expected = "nothing was saved to /archive/mc.tgz: the lead's pod has ended with exit code 137"
    assert run(work()) == [expected]


@pytest.mark.parametrize("late", [False, True], ids=["before it is done", "after it"])
@pytest.mark.parametrize("doing", [("suspend", True), ("delete",)], ids=["suspend", "delete"])
def test_an_operator_that_dies_of_every_write_saves_all_the_same(doing: Step, late: bool) -> None:
    """Events apart; before it is done only every other one: else nothing would ever be written."""

    async def work() -> tuple[int, bool]:
        async with world() as here:
            instance = Instance(here)
            await instance.begin()
            here.lead.work(1)
            await instance.second()
            await instance.take(doing)
            for number in range(60):
                if late or number % 2:
                    await instance.take(("fault", "crash", 0, 1, late))
                if number == 20:
                    here.lead.finish(1)
                await instance.second()
            job = here.store.objects.get(JOB, {"spec": {"suspend": True}})
            return here.lead.saves, job["spec"]["suspend"] and (doing[0] == "suspend") == (
                MINICLUSTER in here.store.objects
            )

    assert run(work()) == (1, True)
