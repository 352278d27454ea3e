"""Decisions written down, read again, and taken again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import decision_log, plugins
from queue_policies.records import Change, Grow, Happened, Reserve, Shrink, Start, WakeAt
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.workloads import charm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


def test_what_was_written_is_read(kit: Any, inf: float) -> None:
    state = kit.state(
        16,
        [kit.waits(3, 2, 4, limit=60.0), kit.waits(4, 1)],
        [kit.runs(1, 4, 2, 8, heeds=True, remaining=0.5), kit.runs(2, 3)],
    )
    state = state._replace(changes=[Change(Happened.ENDED, 7), Change(Happened.WOKEN)])
    actions = [Shrink(1, 2), Start(3, 4, (1,)), Start(4), Grow(1, 8), Reserve(4, 9.5), WakeAt(11.25)]
    read = decision_log.decode(decision_log.encode("any", state, 1.5, actions))
    assert (read.policy, read.now, read.actions) == ("any", 1.5, actions)
    assert list(read.state.changes) == list(state.changes)
    assert list(read.state.queue) == list(state.queue)
    assert read.state.running.by_order() == state.running.by_order()
    assert (read.state.cluster.total, read.state.cluster.free) == (16, state.cluster.free)


@pytest.mark.parametrize("name", sorted(plugins.policies()))
def test_the_same_decisions_are_taken_again(name: str) -> None:
    """With run times told, of jobs that grow and shrink, amid orders and refusals."""
    policy, lines = plugins.load(name), list[str]()

    def watch(state: State, now: float, actions: Sequence[Action]) -> None:
        lines.append(decision_log.encode(name, state, now, actions))

    simulate(charm.workload(next(iter(charm.draws(1))), 60.0), policy, SimulationOptions(refusals=0.2), watch)
    assert len(lines) > 16
    assert list(decision_log.differences(policy, lines)) == []


def test_another_policy_answers_otherwise(kit: Any) -> None:
    state = kit.state(4, [kit.waits(3, 2, 4)])
    lines = [decision_log.encode("fcfs", state, 0.0, [Start(3, 4)])] * 2
    policy = plugins.load("rigid-min")
    assert list(decision_log.differences(policy, lines)) == [
        decision_log.Difference(1, [Start(3, 4)], [Start(3, 2)]),
        decision_log.Difference(2, [Start(3, 4)], [Start(3, 2)]),
    ]
