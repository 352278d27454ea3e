"""The policy that shares cores: whom it pairs, what it learns, and that its answers are the same again."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import decision_log, memory, plugins
from queue_policies.cosched import book
from queue_policies.cosched.cosched import Cosched
from queue_policies.cosched.trees import Expert, written
from queue_policies.errors import PolicySettings
from queue_policies.records import CpuQuota, Remember, Start, WakeAt
from queue_policies.sharing import CoreSharing, JobEnd, SharingConsent, Usage
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.workloads import workflows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State

HALF = written([Expert("half", (0.0, 0.0, 1.0, 0.0))])
NEVER = written([Expert("never", (1.0, 0.0, 0.0, 0.0))])
TWO = written([Expert("half", (0.0, 0.0, 1.0, 0.0)), Expert("never", (1.0, 0.0, 0.0, 0.0))])
SEED = 2
"""With it the first draw between these two is half."""


def host(kit: Any, **others: Any) -> Any:
    """A job of 4 cores that uses a third of them, has done half of its work in 100 s, and has 200 s more."""
    known = {"started": 0.0, "end": 300.0, "remaining": 0.5, "measured": 100.0, "usage": Usage(0.3, 0.1, 4)}
    return kit.runs(6, 4, **{**known, **others})


def state(kit: Any, waiting: Sequence[Any], running: Sequence[Any], **others: Any) -> State:
    made: State = kit.state(4, waiting, running)
    return made._replace(sharing=CoreSharing(), **others)


def guests(actions: Sequence[Action]) -> list[tuple[int, int | None, float]]:
    return [(each.job, each.on, each.fraction) for each in actions if isinstance(each, Start)]


def waits(kit: Any, number: int = 1, size: int = 2, **others: Any) -> Any:
    return kit.waits(number, size, **{"limit": 50.0, **others})


def remembered(actions: Sequence[Action]) -> Remember:
    return next(each for each in actions if isinstance(each, Remember))


def test_a_waiting_job_starts_on_a_hosts_idle_cores(kit: Any) -> None:
    actions = kit.answer(Cosched(experts=HALF), state(kit, [waits(kit)], [host(kit)]), 100.0)
    assert actions[:2] == [CpuQuota(6, 0.5), Start(1, on=6, fraction=0.5)]
    assert isinstance(actions[2], Remember)


def test_a_host_that_is_to_have_none_is_asked_again_later(kit: Any) -> None:
    policy, given = Cosched(experts=NEVER), state(kit, [waits(kit)], [host(kit)])
    actions = kit.answer(policy, given, 100.0)
    assert guests(actions) == []
    assert WakeAt(400.0) in actions
    again = given._replace(memory=remembered(actions).memory)
    assert [each for each in kit.answer(policy, again, 250.0) if isinstance(each, Remember)] == []


NO_HOSTS = {
    "usage unknown": {"usage": None},
    "NaN usage": {"usage": Usage(math.nan, 0.1)},
    "progress unknown": {"remaining": None},
    "nothing done yet": {"remaining": 1.0},
    "it stops": {"stopping": True},
    "it is to have none": {"consent": SharingConsent.NEVER},
    "it is only ever a guest": {"consent": SharingConsent.GUEST},
    "it would pass its limit": {"end": 205.0},
    "half of it is not idle": {"usage": Usage(0.99, 0.1), "end": 250.0},
    "its clock jumped": {"started": 500.0},
}


@pytest.mark.parametrize("others", NO_HOSTS.values(), ids=NO_HOSTS.keys())
def test_who_is_no_host(kit: Any, others: dict[str, Any]) -> None:
    assert (
        guests(kit.answer(Cosched(experts=HALF), state(kit, [waits(kit)], [host(kit, **others)]), 100.0))
        == []
    )


NO_GUESTS = {
    "more than the host has": {"size": 5},
    "more than it is offered": {"size": 3},
    "it is to share with nobody": {"consent": SharingConsent.NEVER},
    "another user's": {"user": 7},
    "its use is no number: it needs what it asks for": {"size": 3, "usage": Usage(math.nan)},
    "its use is above all": {"size": 3, "usage": Usage(1.5)},
}


@pytest.mark.parametrize("others", NO_GUESTS.values(), ids=NO_GUESTS.keys())
def test_who_is_no_guest(kit: Any, others: dict[str, Any]) -> None:
    given = state(kit, [waits(kit, **others)], [host(kit)])
    assert guests(kit.answer(Cosched(experts=HALF), given, 100.0)) == []


def test_a_guest_needs_what_earlier_runs_used(kit: Any) -> None:
    given = state(kit, [waits(kit, size=3, usage=Usage(0.5))], [host(kit)])
    assert guests(kit.answer(Cosched(experts=HALF), given, 100.0)) == [(1, 6, 0.5)]
    assert guests(kit.answer(Cosched(experts=HALF, need_by_use=False), given, 100.0)) == []


def test_the_guest_that_needs_the_most_is_tried_first(kit: Any) -> None:
    given = state(kit, [waits(kit, 1, 1), waits(kit, 2, 2)], [host(kit)])
    assert guests(kit.answer(Cosched(experts=HALF), given, 100.0)) == [(2, 6, 0.5)]
    assert guests(kit.answer(Cosched(experts=HALF, best_fit=False), given, 100.0)) == [(1, 6, 0.5)]


def test_where_jobs_are_bound_only_whole_cores_are_offered(kit: Any) -> None:
    given = state(kit, [waits(kit, 1, 1)], [host(kit)])
    bound = given._replace(sharing=CoreSharing(whole_cores=True))
    three = Cosched(actions="0 0.4", experts=written([Expert("most", (0.0, 1.0))]))
    assert guests(kit.answer(three, given, 100.0)) == [(1, 6, 0.4)]
    assert guests(kit.answer(three, bound, 100.0)) == []


def test_the_head_starts_at_most_so_much_later_than_it_was_promised(kit: Any) -> None:
    given = state(kit, [waits(kit, 1, 4), waits(kit, 2, 2, limit=600.0)], [host(kit)])
    assert guests(kit.answer(Cosched(experts=HALF, delay=0.0), given, 100.0)) == []
    assert guests(kit.answer(Cosched(experts=HALF, delay=500.0), given, 100.0)) == [(2, 6, 0.5)]
    assert guests(kit.answer(Cosched(experts=HALF, delay=300.0), given, 100.0)) == []


def parted(kit: Any, until: float, left: float, done: float) -> State:
    """Two shared cores from 100 s on; the guest has ended now, and so much of the host's work is left."""
    policy = Cosched(experts=TWO, seed=SEED)
    first = policy.decide(state(kit, [waits(kit)], [host(kit)]), 100.0)
    assert guests(first) == [(1, 6, 0.5)]
    ends = (JobEnd(1, 100.0, until, 50.0, done, ((100.0, 0.5),), 6),)
    running = [host(kit, remaining=left, measured=until)]
    return state(kit, [], running, ends=ends, memory=remembered(first).memory)


def weights(policy: Cosched, actions: Sequence[Action]) -> dict[str, float]:
    return policy.remembered(remembered(actions).memory)


def test_what_a_sharing_cost_is_charged_to_those_who_wanted_it(kit: Any) -> None:
    policy = Cosched(experts=TWO, seed=SEED)
    slow = weights(policy, policy.decide(parted(kit, 200.0, 0.4, 0.5), 200.0))
    assert slow["never"] > 0.6, "the host did a fifth of what it does alone"
    fast = weights(policy, policy.decide(parted(kit, 140.0, 0.3, 1.0), 140.0))
    assert fast == {"half": 0.5, "never": 0.5}


def test_of_a_brief_sharing_nothing_is_learned(kit: Any) -> None:
    policy = Cosched(experts=TWO, seed=SEED)
    assert weights(policy, policy.decide(parted(kit, 100.5, 0.5, 0.0), 100.5)) == {"half": 0.5, "never": 0.5}


@pytest.mark.parametrize(
    ("value", "note"),
    [
        pytest.param((0, (0, 0.5), ("a",)), "is not of a form that is known here", id="short"),
        pytest.param("text", "is not of a form that is known here", id="a text"),
        pytest.param(
            (0, (0.0, 0.25, 0.5, 0.75), ("half",), (), 0, (), (), (), None),
            "is of version 0, and this is 1",
            id="another version",
        ),
        pytest.param(
            (1, (0.0, 0.25, 0.5, 0.75), ("half", "b"), (), 0, (), (), (), None),
            "is of 2 experts, and there are 1",
            id="another number of experts",
        ),
        pytest.param(
            (1, (0.0, 0.25, 0.5, 0.75), ("b",), (), 0, (), (), (), None), "is of other experts", id="others"
        ),
        pytest.param(
            (1, (0.0, 0.5), ("half",), (), 0, (), (), (), None), "is of other actions", id="actions"
        ),
    ],
)
def test_a_memory_that_does_not_fit_begins_anew_and_that_is_noted_once(
    kit: Any, value: Any, note: str
) -> None:
    policy = Cosched(experts=HALF)
    given = state(kit, [], [host(kit)], memory=value)
    first = remembered(kit.answer(policy, given, 100.0))
    assert first.note == f"what cosched remembered {note}; it begins to learn anew"
    assert kit.answer(policy, given._replace(memory=first.memory), 100.0) == []


def test_a_clock_that_goes_back_does_no_harm(kit: Any) -> None:
    policy = Cosched(experts=TWO, seed=SEED)
    given = parted(kit, 140.0, 0.4, 1.0)
    assert weights(policy, kit.answer(policy, given, 50.0)) == {"half": 0.5, "never": 0.5}


def test_a_clock_that_leaps_ahead_costs_no_more_than_the_worst_guest(kit: Any) -> None:
    """A day in which the host seems to have done little: losses are at most 1."""
    policy = Cosched(experts=TWO, seed=SEED)
    leap = weights(policy, kit.answer(policy, parted(kit, 86_500.0, 0.4, 0.5), 86_500.0))
    worst = weights(policy, kit.answer(policy, parted(kit, 300.0, 0.4, 0.5), 300.0))
    assert leap == worst
    assert all(math.isfinite(each) for each in leap.values())


def test_a_host_that_ends_as_its_guest_does_is_counted(kit: Any) -> None:
    policy = Cosched(experts=TWO, seed=SEED)
    given = parted(kit, 200.0, 0.0, 0.5)
    both = (*given.ends, JobEnd(6, 0.0, 200.0, 300.0, 0.9))
    gone = kit.state(4)._replace(sharing=CoreSharing(), ends=both, memory=given.memory)
    kept, _ = book.unpacked(
        remembered(policy.decide(gone, 200.0)).memory, policy.grid, policy.known_experts()
    )
    assert kept.cases == ()
    assert kept.risks.current[0] > kept.risks.current[1] == 0


def recorded(policy: Cosched, seed: int = 0) -> list[str]:
    lines: list[str] = []

    def watch(given: State, now: float, actions: Sequence[Action]) -> None:
        lines.append(decision_log.encode(policy.name, given, now, actions))

    simulate(workflows.workload(seed, 64, 2), policy, SimulationOptions(), watch)
    return lines


def test_a_recorded_run_is_decided_the_same_again() -> None:
    lines = recorded(Cosched())
    assert list(decision_log.differences(Cosched(), lines)) == []
    assert any('"on":' in line for line in lines)


def test_two_seeds_draw_otherwise() -> None:
    lines = recorded(Cosched())
    assert list(decision_log.differences(Cosched(seed=1), lines)) != []


def test_a_memory_goes_through_json_and_is_continued() -> None:
    outcome = simulate(workflows.workload(0, 64), Cosched())
    again = memory.restored(json.loads(json.dumps(outcome.memory)))
    assert again == outcome.memory
    first, second = (
        simulate(workflows.workload(1, 64), Cosched(), SimulationOptions(memory=each))
        for each in (outcome.memory, again)
    )
    assert first == second
    assert first.notes == ()
    assert first.weights[0].weights != simulate(workflows.workload(1, 64), Cosched()).weights[0].weights


def test_a_quota_that_two_jobs_cannot_have_is_named() -> None:
    with pytest.raises(PolicySettings) as error:
        plugins.load("static", {"quota": 0.6})
    assert str(error.value) == (
        "queue policy static: setting quota is 0.6; it must be 0.5 or less, "
        "as two jobs have it of the same cores"
    )


@pytest.mark.parametrize("name", ["cosched", "static"])
def test_where_cores_cannot_be_shared_it_is_easy(name: str) -> None:
    plain = workflows.workload(0, 64).__class__("plain", workflows.workload(0, 64).jobs, 64)
    assert simulate(plain, plugins.load(name)).jobs == simulate(plain, plugins.load("easy")).jobs
