"""What the status of a MiniCluster says of the scheduler that real Flux has loaded."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.broker_link.loaded_policy import of_flux

FLUXION = "sched-fluxion-qmanager", "sched-fluxion-resource"
PLACED = {"minicluster": {"placement": "balanced", "affinity": "required"}}


@pytest.mark.parametrize(
    ("modules", "config", "policy"),
    [
        pytest.param((), {}, "", id="none yet"),
        pytest.param(("sched-simple",), {}, "fcfs", id="simple"),
        pytest.param(("sched-of-a-site",), {}, "sched-of-a-site", id="another"),
        pytest.param(("minicluster-sched",), {}, "minicluster/easy", id="ours"),
        pytest.param(
            ("minicluster-sched",), PLACED, "minicluster/easy, placement balanced", id="ours with a placement"
        ),
        pytest.param(FLUXION, {}, "fluxion/fcfs", id="Fluxion"),
        pytest.param(
            FLUXION,
            {"sched-fluxion-qmanager": {"queue-policy": "easy"}, **PLACED},
            "fluxion/easy (Fluxion's match policy first chooses nodes and cores, not placement balanced, "
            "affinity required)",
            id="Fluxion beside a placement",
        ),
        pytest.param(
            FLUXION,
            {"sched-fluxion-resource": {"match-policy": "lonode"}, "minicluster": {"placement": "pack"}},
            "fluxion/fcfs (Fluxion's match policy lonode chooses nodes and cores, not placement pack)",
            id="its match policy",
        ),
        pytest.param(
            ("sched-simple",),
            {"minicluster": {"affinity": "none"}},
            "fcfs (sched-simple chooses nodes and cores, not affinity none)",
            id="simple beside an affinity",
        ),
    ],
)
def test_the_status_reports_what_decides(modules: tuple[str, ...], config: Any, policy: str) -> None:
    """So nobody waits for a placement that the loaded scheduler does not know."""
    listed = [{"name": name, "services": ["sched"] if name != FLUXION[1] else []} for name in modules]
    answers = {
        "module.list": {"mods": listed},
        "config.get": config,
        "minicluster-sched.stats-get": {"policy": "easy", **config.get("minicluster", {})},
    }
    assert of_flux(lambda topic, _payload, _timeout: answers[topic]) == policy
