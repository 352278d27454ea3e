"""Guests on running jobs' cores, and quotas: what cannot be is named; what can be is recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies import decision_log, memory
from queue_policies.core_sharing import agreed
from queue_policies.decision import decide
from queue_policies.errors import PolicyDefect
from queue_policies.records import (
    Change,
    CpuQuota,
    Happened,
    Preempt,
    Remember,
    Shrink,
    Start,
    State,
)
from queue_policies.sharing import CoreSharing, JobEnd, SharingConsent, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action


@dataclass(frozen=True)
class Sharer:
    """Answers what it was made with, and promises to give no job less than a fifth of its cores."""

    name: ClassVar[str] = "sharer"
    actions: Any = ()
    least_quota: float = 0.2

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return self.actions  # type: ignore[no-any-return]


@pytest.fixture
def given(kit: Any) -> State:
    """No unit is free. Job 6 of 4 units is alone, 7 has the guest 8, 9 stops, 10 is another user's."""
    queued = [kit.waits(1, 2), kit.waits(2, 2), kit.waits(3, 5), kit.waits(4, 1, user=3)]
    running = [
        kit.runs(6, 4),
        kit.runs(7, 4, quota=0.5, guests=(8,)),
        kit.runs(8, 2, host=7, quota=0.5),
        kit.runs(9, 2, stopping=True),
        kit.runs(10, 2, user=4, consent=SharingConsent.HOST),
        kit.runs(11, 4, 2, 8, waits=True),
        kit.runs(12, 4, 2, 8),
    ]
    made: State = kit.state(20, queued, running)
    return made._replace(sharing=CoreSharing())


STATE = "; at 5 with 4 queued (first 1 for 2, 2 for 2, 3 for 5), 7 running, 0 of 20 units free"


def wrong(given: State, actions: Any) -> str:
    with pytest.raises(PolicyDefect) as error:
        decide(Sharer(actions), given, 5.0)
    text = str(error.value)
    assert text.endswith(STATE)
    return text.removeprefix("queue policy sharer ").removesuffix(STATE)


ON = "starts job 1 on the cores of job"


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        pytest.param([Start(1, on=5, fraction=0.5)], f"{ON} 5, which does not run", id="no such host"),
        pytest.param([Start(1, on=2, fraction=0.5)], f"{ON} 2, which does not run", id="queued host"),
        pytest.param([Start(1, on=9, fraction=0.5)], f"{ON} 9, which stops", id="a host that ends"),
        pytest.param([Start(1, on=11, fraction=0.5)], f"{ON} 11, which has not begun", id="one that waits"),
        pytest.param([Start(1, on=8, fraction=0.5)], f"{ON} 8, which is a guest of job 7", id="a guest"),
        pytest.param(
            [Start(1, on=7, fraction=0.5)],
            f"{ON} 7, which has 1 guest already; 1 may be on one job's cores",
            id="a second guest",
        ),
        pytest.param(
            [Start(3, on=6, fraction=0.5)],
            "starts job 3 on the cores of job 6, which has 4 units where it asks for 5",
            id="too large",
        ),
        pytest.param(
            [Start(1, on=10, fraction=0.5)],
            f"{ON} 10, which does not share its cores with this one",
            id="another user's",
        ),
        pytest.param(
            [Start(1, on=6, fraction=0.5)],
            f"{ON} 6 at a fraction of 0.5, where those of job 6 and its guests sum to 1.5",
            id="above all",
        ),
        pytest.param(
            [Start(1, on=6, fraction=1.5)],
            f"{ON} 6 at a fraction of 1.5; needed is one above 0, up to 1",
            id="above 1",
        ),
        pytest.param(
            [Start(1, on=6, fraction=math.nan)],
            f"{ON} 6 at a fraction of nan; needed is one above 0, up to 1",
            id="NaN",
        ),
        pytest.param(
            [Start(1, on=6, fraction=0.1)],
            f"{ON} 6 at a fraction of 0.1, which is below the least, 0.2",
            id="below the least action",
        ),
        pytest.param(
            [Start(1, fraction=0.5)],
            "starts job 1 with a fraction of 0.5 of no job's cores",
            id="a fraction of nothing",
        ),
        pytest.param(
            [Shrink(12, 2), Start(1, None, (12,), on=6, fraction=0.5)],
            f"{ON} 6, after others shrank, which free no core there",
            id="after a shrink",
        ),
        pytest.param(
            [Shrink(12, 2), Start(1, on=12, fraction=0.5)],
            f"{ON} 12, which stops or resizes in the same answer",
            id="on what shrinks",
        ),
        pytest.param(
            [CpuQuota(12, 0.5), Start(1, on=12, fraction=0.5), Shrink(12, 2)],
            "shrinks job 12 from 4 to 2 units, which shares its cores",
            id="a host that shrinks",
        ),
        pytest.param([CpuQuota(1, 0.5)], "sets a quota for job 1, which does not run", id="of a queued job"),
        pytest.param([CpuQuota(9, 0.5)], "sets a quota for job 9, which stops", id="of one that stops"),
        pytest.param(
            [CpuQuota(7, 0.75)],
            "sets a quota for job 7 at a fraction of 0.75, where those of job 7 and its guests sum to 1.25",
            id="a host's above the rest",
        ),
        pytest.param(
            [CpuQuota(6, 0.0)],
            "sets a quota for job 6 at a fraction of 0; needed is one above 0, up to 1",
            id="of nothing",
        ),
        pytest.param(
            [Remember((1, math.inf))], "remembers inf, which is no finite number", id="an infinite memory"
        ),
        pytest.param(
            [Remember([1])],  # type: ignore[arg-type]
            "remembers [1], which is no text, finite number, truth, None or tuple",
            id="a memory that may change",
        ),
    ],
)
def test_what_cannot_be_is_named(given: State, actions: Any, message: str) -> None:
    assert wrong(given, actions) == message


def test_two_guests_are_where_two_may_be(given: State) -> None:
    actions = [
        CpuQuota(7, 0.25),
        CpuQuota(8, 0.25),
        Start(1, on=7, fraction=0.25),
        Start(2, on=7, fraction=0.25),
    ]
    assert decide(Sharer(actions), given._replace(sharing=CoreSharing(guests=3)), 5.0) == actions
    assert wrong(given._replace(sharing=CoreSharing(guests=2)), actions) == (
        "starts job 2 on the cores of job 7, which has 2 guests already; 2 may be on one job's cores"
    )


def test_only_whole_cores_are_given_where_jobs_are_bound(given: State) -> None:
    bound = given._replace(sharing=CoreSharing(whole_cores=True))
    assert wrong(bound, [CpuQuota(6, 0.7)]) == (
        "sets a quota for job 6 at a fraction of 0.7, which is 2.8 cores; here whole ones are needed"
    )
    actions = [CpuQuota(6, 0.75), Start(1, on=6, fraction=0.25)]
    assert decide(Sharer(actions), bound, 5.0) == actions


def test_nothing_is_shared_where_it_cannot_be(given: State) -> None:
    alone = given._replace(sharing=None)
    assert wrong(alone, [Start(1, on=6, fraction=0.5)]) == f"{ON} 6, but jobs cannot share cores here"
    assert wrong(alone, [CpuQuota(6, 0.5)]) == "sets a quota for job 6, but jobs cannot share cores here"


def test_a_host_or_guest_is_not_preempted(given: State) -> None:
    able = given._replace(preemption=True)
    assert wrong(able, [Preempt(8)]) == "preempts job 8, which shares its cores"


def test_a_guest_takes_no_free_unit_and_a_quota_may_come_with_a_start(given: State, kit: Any) -> None:
    state = kit.state(6, [kit.waits(1, 2), kit.waits(2, 2)], [kit.runs(6, 4)])._replace(sharing=CoreSharing())
    actions = [CpuQuota(6, 0.5), Start(1, on=6, fraction=0.5), Start(2), CpuQuota(2, 0.5), Remember((1, "a"))]
    assert decide(Sharer(actions), state, 5.0) == actions


NEVER, GUEST, HOST = SharingConsent.NEVER, SharingConsent.GUEST, SharingConsent.HOST


@pytest.mark.parametrize(
    ("host", "guest", "own", "others"),
    [
        pytest.param(None, None, True, False, id="nothing said"),
        pytest.param(HOST, GUEST, True, True, id="both said so"),
        pytest.param(HOST, None, True, False, id="only the host"),
        pytest.param(None, GUEST, True, False, id="only the guest"),
        pytest.param(NEVER, None, False, False, id="a host alone"),
        pytest.param(None, NEVER, False, False, id="a guest alone"),
        pytest.param(GUEST, GUEST, False, False, id="only ever a guest"),
        pytest.param(HOST, HOST, False, False, id="only ever a host"),
    ],
)
def test_who_agreed_with_whom(kit: Any, host: Any, guest: Any, own: bool, others: bool) -> None:
    waits = kit.waits(1, 1, user=1, consent=guest)
    assert agreed(kit.runs(2, 1, user=1, consent=host), waits) is own
    assert agreed(kit.runs(2, 1, user=2, consent=host), waits) is others


def test_what_is_shared_is_written_and_read(given: State, kit: Any) -> None:
    usage = Usage(0.5, 0.25, 2, 3.0)
    given.running[6] = kit.runs(6, 4, usage=usage, estimate=kit.Amdahl(1, 8), remaining=0.5)  # type: ignore[index]
    state = given._replace(
        changes=[Change(Happened.ENDED, 5), Change(Happened.MEASURED, 6), Change(Happened.DEGRADED, 7)],
        ends=(JobEnd(5, 0.0, 4.0, done=0.5, quotas=((1.0, 0.5), (2.0, 1.0)), host=6),),
        memory=(1, (0.5, "a", None), True),
    )
    actions: list[Action] = [
        CpuQuota(6, 0.75),
        Start(1, on=6, fraction=0.25),
        Remember((2, (0.25,)), "began anew"),
    ]
    line = decision_log.encode("any", state, 5.0, actions)
    read = decision_log.decode(line)
    assert (list(read.actions), read.state.memory) == (actions, state.memory)
    assert (read.state.ends, read.state.sharing) == (state.ends, state.sharing)
    assert list(read.state.changes) == list(state.changes)
    assert [read.state.running[job] for job in (7, 8, 10)] == [given.running[job] for job in (7, 8, 10)]
    assert (read.state.running[6].usage, read.state.running[6].left(6.0)) == (
        usage,
        given.running[6].left(6.0),
    )
    assert decision_log.encode("any", read.state, 5.0, read.actions) == line


def test_where_nothing_is_shared_nothing_is_added_to_the_log(kit: Any) -> None:
    state = kit.state(4, [kit.waits(1, 2)], [kit.runs(2, 1)])
    line = decision_log.encode("any", state, 0.0, [Start(1)])
    assert '"actions":[{"do":"Start","job":1,"size":null,"after":[]}]' in line
    assert not any(word in line for word in ("memory", "sharing", "usage", "quota", "ends", "fraction"))


def test_a_memory_is_read_from_json() -> None:
    assert memory.restored([1, [2.5, "a", None], True]) == (1, (2.5, "a", None), True)
    with pytest.raises(TypeError, match=r"a memory has \{\}, which is no text, number, truth, null or list"):
        memory.restored([{}])
