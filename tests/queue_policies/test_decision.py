"""A checked decision: what a policy answers that cannot be is named, with policy, job and state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies.decision import decide, stuck
from queue_policies.errors import PolicyDefect
from queue_policies.records import Action, Grow, Preempt, Reserve, Shrink, Start, State, WakeAt

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Fixed:
    """Answers what it was made with."""

    name: ClassVar[str] = "fixed"
    actions: Any = ()

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return self.actions  # type: ignore[no-any-return]


@pytest.fixture
def given(kit: Any) -> State:
    """Of 16 units 4 are free."""
    queued = [kit.waits(1, 2), kit.waits(2, 2, 4), kit.waits(3, 9), kit.waits(4, 1)]
    deaf = kit.runs(7, 4, 2, 6, heeds=False)
    made: State = kit.state(16, queued, [kit.runs(6, 2), deaf, kit.runs(8, 6, 2, 8)])
    return made


STATE = "; at 5 with 4 queued (first 1 for 2, 2 for 2, 3 for 9), 3 running, 4 of 16 units free"


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        pytest.param([Start(9)], "starts job 9, which is not queued", id="not queued"),
        pytest.param([Start(1), Start(1)], "starts job 1 twice", id="twice"),
        pytest.param([Start(3)], "starts job 3 at 9 units where 4 are free", id="no room"),
        pytest.param([Start(2, 4), Start(1)], "starts job 1 at 2 units where 0 are free", id="no room left"),
        pytest.param([Start(2, 5)], "starts job 2 at 5 units, which runs at 2 to 4", id="above its largest"),
        pytest.param([Start(2, 1)], "starts job 2 at 1 units, which runs at 2 to 4", id="below its least"),
        pytest.param([Start(1, 3)], "starts job 1 at 3 units, which runs at 2", id="rigid"),
        pytest.param(
            [Start(2, 2, (8,))],
            "starts job 2 after job 8 shrank, which it does not order before",
            id="after what does not shrink",
        ),
        pytest.param([Grow(1, 3)], "grows job 1, which does not run", id="not running"),
        pytest.param(
            [Grow(6, 3)], "grows job 6 from 2 to 3 units, which is not malleable", id="not malleable"
        ),
        pytest.param(
            [Shrink(7, 2)], "shrinks job 7 from 4 to 2 units, which does not heed orders now", id="deaf"
        ),
        pytest.param([Grow(8, 9)], "grows job 8 from 6 to 9 units, which runs at 2 to 8", id="too large"),
        pytest.param([Shrink(8, 1)], "shrinks job 8 from 6 to 1 units, which runs at 2 to 8", id="too small"),
        pytest.param([Grow(8, 4)], "grows job 8 from 6 to 4 units, which is the wrong way", id="down"),
        pytest.param([Shrink(8, 8)], "shrinks job 8 from 6 to 8 units, which is the wrong way", id="up"),
        pytest.param([Grow(8, 6)], "grows job 8 from 6 to 6 units, which is the wrong way", id="nowhere"),
        pytest.param(
            [Start(2, 4), Grow(8, 8)], "grows job 8 from 6 to 8 units where 0 are free", id="no room to grow"
        ),
        pytest.param(
            [Grow(8, 7), Shrink(8, 4)],
            "shrinks job 8 from 6 to 4 units after it resized it in the same answer",
            id="resized twice",
        ),
        pytest.param([Preempt(6)], "preempts job 6, but jobs cannot be preempted here", id="no preemption"),
        pytest.param([WakeAt(5.0)], "asks to be woken at 5, which is no later time", id="woken now"),
        pytest.param([WakeAt(float("inf"))], "asks to be woken at inf, which is no later time", id="never"),
        pytest.param([WakeAt(float("nan"))], "asks to be woken at nan, which is no later time", id="NaN"),
        pytest.param([Reserve(3, float("nan"))], "reserves nan for job 3, which is no time", id="no time"),
        pytest.param(["start"], "answers 'start', which is no action", id="no action"),
    ],
)
def test_what_cannot_be_is_named(given: State, actions: Any, message: str) -> None:
    with pytest.raises(PolicyDefect) as error:
        decide(Fixed(actions), given, 5.0)
    assert str(error.value) == f"queue policy fixed {message}{STATE}"


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        pytest.param([Preempt(1)], "preempts job 1, which does not run", id="not running"),
        pytest.param([Preempt(6), Preempt(6)], "preempts job 6, which it preempts already", id="twice"),
        pytest.param(
            [Grow(8, 7), Preempt(8)],
            "preempts job 8, which it resizes in the same answer",
            id="resized before",
        ),
        pytest.param(
            [Preempt(8), Grow(8, 7)],
            "grows job 8 from 6 to 7 units after it preempted it in the same answer",
            id="resized after",
        ),
        pytest.param([Preempt(7)], "preempts job 7, which stops, or is amid an order", id="amid an order"),
        pytest.param([Preempt(6), Start(3)], "starts job 3 at 9 units where 4 are free", id="used at once"),
    ],
)
def test_where_jobs_can_be_preempted(given: State, actions: list[Action], message: str) -> None:
    with pytest.raises(PolicyDefect) as error:
        decide(Fixed(actions), given._replace(preemption=True), 5.0)
    assert str(error.value) == f"queue policy fixed {message}{STATE}"


def test_what_can_be_passes(given: State) -> None:
    actions = [Shrink(8, 2), Start(2, 4, (8,)), Start(1), Reserve(3, 9.0), WakeAt(6.0)]
    assert decide(Fixed(actions), given, 5.0) == actions


def test_what_is_no_list_of_actions_is_named(given: State) -> None:
    with pytest.raises(PolicyDefect) as error:
        decide(Fixed(7), given, 5.0)
    assert "queue policy fixed answers 7, which is no list of actions" in str(error.value)


class Broken(Fixed):
    """Raises, some calls below."""

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return self._called(4)

    def _called(self, depth: int) -> Sequence[Action]:
        if depth == 0:
            raise KeyError("job 3")
        return self._called(depth - 1)


def test_a_policy_that_raises_is_named_with_the_last_calls(given: State) -> None:
    with pytest.raises(PolicyDefect) as error:
        decide(Broken(), given, 5.0)
    calls = ", ".join([f"{__file__}:N in _called"] * 3)
    seen = re.sub(r"py:\d+", "py:N", str(error.value))
    assert seen == f"queue policy fixed failed: KeyError: 'job 3' ({calls}){STATE}"


def test_one_that_never_wakes_is_named(kit: Any) -> None:
    defect = stuck(Fixed(), kit.state(4, [kit.waits(1, 2)]), 5.0)
    assert str(defect) == (
        "queue policy fixed starts none of the queued jobs, though nothing runs, and asks not to be woken; "
        "at 5 with 1 queued (1 for 2), 0 running, 4 of 4 units free"
    )


def test_a_state_without_jobs_is_described(kit: Any) -> None:
    with pytest.raises(PolicyDefect, match="at 0 with no job queued, 0 running, 4 of 4 units free"):
        decide(Fixed([Start(1)]), kit.state(4), 0.0)
