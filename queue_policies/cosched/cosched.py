"""Co-scheduling: EASY, and waiting jobs that start on idle cores of running ones, as a learner advises.

Source: Souza, Pelckmans and Tordsson, "A HPC Co-Scheduler with Reinforcement Learning", 2021, with our
corrections: `learner` has the update, and what is known of all losses; decision 0085 the reasons.

For each host without a guest, a job of the queue that may be its guest makes a case. The experts'
distributions are mixed by their weights, and an action is drawn: the fraction of the host's cores that the
guest gets. 0: none. When they part, the cost is known: how far both were slower than alone. It is charged
to each expert by the probability that it gave to the action. While nobody may share cores, this is EASY.

Bound on starvation: a guest that outlives its host keeps some of its cores. By that the head of the queue
starts at most `delay` seconds later than EASY would have started it when it became the head.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.cosched.options import CoschedOptions
from queue_policies.cosched.pairing import Pairing
from queue_policies.cosched.shared_queue import with_guests
from queue_policies.cosched.taking_back import taken_back
from queue_policies.easy import Easy, easy_pass
from queue_policies.records import Action, Remember, Reserve, State, WakeAt
from queue_policies.walk import start_actions

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Cosched(CoschedOptions):
    """EASY, and guests on idle cores of running jobs, by a learner with a regret bound."""

    name: ClassVar[str] = "cosched"
    needs_sharing: ClassVar[bool] = True

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start as EASY does; learn from those who parted; take cores back from guests of hosts that
        suffer; then draw for each host that could have a guest."""
        if state.sharing is None:
            return Easy().decide(state, now)
        view = state._replace(running=with_guests(state.running))
        schedule = easy_pass(view, now, extra=True)
        actions = start_actions(schedule.starts)
        if schedule.head is not None and math.isfinite(schedule.shadow):
            actions.append(Reserve(schedule.head.id, schedule.shadow))
        pairing = Pairing(self, view, now)
        pairing.learn()
        actions += taken_back(state, self.grid)
        actions += pairing.pair(schedule)
        wake = pairing.wake()
        if wake < math.inf:
            actions.append(WakeAt(wake))
        memory = pairing.memory()
        if memory != state.memory:
            actions.append(Remember(memory, pairing.note))
        return actions
