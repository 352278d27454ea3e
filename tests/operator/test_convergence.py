"""Whatever goes wrong on the way, the operator ends where it would have ended without it.

A case is a document, what a person does to it, and a schedule of mishaps: watches that tell late, twice or
not at all, writes that are refused, lost or the process's last, objects that somebody else edits, deletes or
has in the way. Afterwards nothing goes wrong any more, and everything must be as in the undisturbed run.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicluster.plan.constants import KIND
from tests.budgets import examples
from tests.operator.cases import (
    AUTOSCALER,
    DOCUMENTS,
    EDITS,
    MISHAPS,
    NAMES,
    SCHEDULES,
    differences,
    document,
    edit,
    end,
    play,
    rest,
    undisturbed,
)
from tests.operator.contents import NAME
from tests.operator.faults import FAULTS
from tests.operator.field_sets import Object
from tests.operator.virtual_time import run
from tests.operator.world import PATIENT, World, world

CASES = st.fixed_dictionaries(
    {
        "name": st.sampled_from(list(DOCUMENTS)),
        "schedule": SCHEDULES,
        "mishaps": st.lists(MISHAPS, max_size=6),
        "code": st.sampled_from([0, 3]),
        "occupied": st.lists(st.sampled_from([*NAMES, AUTOSCALER]), max_size=2),
    }
)


@pytest.mark.timeout(900)
@settings(max_examples=examples(500))
@given(CASES)
def test_whatever_goes_wrong_it_ends_the_same(case: dict[str, Any]) -> None:
    name, schedule, code = case["name"], case["schedule"], case["code"]
    doings = tuple(step for step in schedule if step[0] == "do")

    async def work() -> tuple[Object, Object]:
        async with world() as here:
            written = document(**DOCUMENTS[name])
            for occupied in case["occupied"]:
                here.conflicting.occupy(*occupied)
            await here.write(written)
            await play(here, written, schedule)
            before = await rest(here)
            await end(here, code, case["mishaps"])
            after = await rest(here)
            assert len(here.contents.secrets()) == len(set(here.contents.secrets())), "two certificates"
            return before, after

    for state, expected in zip(run(work()), undisturbed(name, doings, code), strict=True):
        assert differences(state, expected) == []


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("late", [False, True], ids=["before it is done", "after it"])
@pytest.mark.parametrize("which", range(9))
def test_each_single_write_may_go_wrong(which: int, late: bool, what: str) -> None:
    """From the first one to ResourcesCreated, and the first one after the end."""

    async def work() -> tuple[Object, Object]:
        async with world() as here:
            await here.write(document())
            await fail(here, what, which, late)
            before = await rest(here)
            mishap = ("fault", what, 0, 1, late)
            await end(here, 3, [mishap, ("tell all",), ("live", 1.5), ("live", 100.0)])
            return before, await rest(here)

    assert run(work()) == undisturbed("plain", (), 3)


@pytest.mark.parametrize("seen", [True, False], ids=["while it runs", "while it does not"])
@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("which", range(6))
def test_what_somebody_edits_is_put_right(which: int, how: str, seen: bool) -> None:
    """Also what was taken out of an object while no operator was there to see it."""

    async def work() -> Object:
        async with world() as here:
            await here.write(document())
            await here.converge()
            if not seen:
                await here.operator.end()
            edit(here, which, how)
            if not seen:
                here.begin()
            return await rest(here)

    assert run(work()) == undisturbed("plain", (), 0)[0]


@pytest.mark.parametrize("which", range(6))
def test_what_is_deleted_in_a_gap_of_the_watch_is_made_anew(which: int) -> None:
    """No watch tells of it: the next list does not have it."""

    async def work() -> Object:
        async with world() as here:
            await here.write(document())
            await here.converge()
            edit(here, which, "delete")
            await play(here, {}, [("gap",)])
            await here.converge()
            return here.contents.state()

    assert run(work()) == undisturbed("plain", (), 0)[0]


@pytest.mark.parametrize("which", range(6))
def test_what_somebody_put_under_an_objects_name_is_not_overwritten(which: int) -> None:
    """The operator is about to change its object, and it is another one by then."""

    async def work() -> Object:
        async with world() as here:
            await here.write(document())
            await here.converge()
            edit(here, which, "change")
            await play(here, {}, [("tell all",)])
            edit(here, which, "usurp")
            await here.live(PATIENT)
            here.conflicting.check()
            return await rest(here)

    assert run(work()) == undisturbed("plain", (), 0)[0]


async def fail(here: World, what: str, which: int, late: bool) -> None:
    """Have one write go wrong, and see that it was reached."""
    await play(here, {}, [("fault", what, which, 1, late), ("tell all",), ("live", 1.5), ("tell all",)])
    await here.live(100)
    assert here.armed.times == 0, "fewer writes than that"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_more_writes_than_objects_and_two_statuses(name: str) -> None:
    """From the document to ResourcesCreated; Events apart, and the hint that pods which come late get."""

    async def work() -> None:
        async with world() as here:
            await here.write(document(**DOCUMENTS[name]))
            await here.converge()
            writes = [each for each in here.api.writes if each.kind != "Event"]
            statuses = [each for each in writes if each.subresource == "status"]
            hints = [each for each in statuses if "kubectl describe job" in str(each.body)]
            objects = [*here.contents.dependents(), *set(here.contents.secrets())]
            assert len(statuses) - len(hints) <= 2
            assert len(hints) <= 1
            assert len(writes) - len(statuses) <= len(objects)

    run(work())


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (3, "Failed")])
def test_the_end_is_reported(code: int, phase: str) -> None:
    status = undisturbed("plain", (), code)[1][f"{KIND} {NAME}"]["status"]
    assert (status["phase"], status["exitCode"]) == (phase, code)


@pytest.mark.parametrize("code", [0, 3])
def test_what_cleans_up_is_gone_after_its_end(code: int) -> None:
    before, after = undisturbed("cleanup", (), code)
    assert (f"{KIND} {NAME}" in before, after) == (True, {})
