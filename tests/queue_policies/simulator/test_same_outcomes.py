"""Every policy of release 0.1.0 decides the same as then, on every built-in workload, and jobs end the same.

`same_outcomes.json` beside this file has a digest for each case: of each decision with the state that it was
made in, and of what became of each job, to the last bit. It was recorded with 0.1.0: a policy that came later
has no record there, and none is added.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from queue_policies import decision_log, plugins
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.failure import Failures
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import Preemption, SimulationOptions
from queue_policies.simulator.workloads import catalogue

pytestmark = pytest.mark.usefixtures("unmeasured")

RECORDED: dict[str, str] = json.loads(Path(__file__).with_name("same_outcomes.json").read_text())
POLICIES = sorted({case.partition(" ")[0] for case in RECORDED})
WORKLOADS = (
    "charm:gap=60",
    "apgas:share=0.6,blocking=true",
    "lublin:jobs=60,total=64,elastic=0.6,load=1.1",
)
OPTIONS = {
    "plain": SimulationOptions(),
    "refusals": SimulationOptions(refusals=0.3, seed=3),
    "failures": SimulationOptions(
        failures=Failures(400_000.0, repair=600.0, checkpoint=60.0, restart=20.0),
        seed=2,
        preemption=Preemption(15.0, 10.0),
    ),
    "learned": SimulationOptions(Estimates(learned=True), refusals=0.1, seed=1),
}


def digest(policy: str, workload: str, options: str, seed: int = 0) -> str:
    """Simulate, and return the digest of all decisions and outcomes."""
    found = hashlib.sha256()

    def watch(state: Any, now: float, actions: Any) -> None:
        found.update(decision_log.encode(policy, state, now, actions).encode())

    outcome = simulate(catalogue.load(workload, seed), plugins.load(policy, {}), OPTIONS[options], watch)
    found.update(repr(outcome.jobs).encode())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_and_outcomes_are_those_of_the_release(policy: str, workload: str, options: str) -> None:
    assert digest(policy, workload, options) == RECORDED[f"{policy} {workload} {options}"]
