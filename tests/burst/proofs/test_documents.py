"""Documents with slots that nobody manages, with the fields of the reference's examples of bursting."""

from __future__ import annotations

from typing import Any

import pytest

from tests.burst.proofs.burst_machine import burst_machine
from tests.local.local_machine import document

CLUSTERS = {"bursting": {"clusters": [{"size": 4, "name": "burst-0"}]}}
UNNAMED = {"bursting": {"clusters": [{"size": 4}]}}
HOSTLIST = {"bursting": {"hostlist": "mc-[0-3],cloud-a-[001-003]"}}


@pytest.mark.parametrize(
    ("flux", "hosts", "option"),
    [
        pytest.param(CLUSTERS, "mc-[2-3],burst-0-[0-3]", "--queue=burst-0", id="clusters"),
        pytest.param(UNNAMED, "mc-[2-3],burst-0-[0-3]", "--queue=burst-0", id="without-a-name"),
        pytest.param(
            HOSTLIST, "mc-[2-3],cloud-a-[001-003]", "--requires=host:cloud-a-[001-002]", id="hostlist"
        ),
    ],
)
def test_its_own_nodes_run_jobs_and_the_others_may_join(
    flux: dict[str, Any], hosts: str, option: str
) -> None:
    spec = {"maxSize": 4, "interactive": True, "flux": {"logLevel": 7, **flux}, "logging": {"zeromq": True}}
    about = {
        "commands": {"pre": "true"},
        "environment": {"APPLICATION_CREDENTIALS": "/tmp/none.json"},
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
    }
    with burst_machine() as there:
        up = there.machine.up(document(there.folder, spec=spec, **about))
        assert up.returncode == 0, up.stderr
        assert there.flux("resource", "list", "-s", "down", "-no", "{nodelist}").strip() == hosts
        there.machine.good("submit", "mc", "-N2", "--job-name=here", "--", "true")
        there.services.until(lambda: there.jobs()["here"]["state"] == "COMPLETED", "a job of its own nodes")
        assert there.jobs()["here"]["nodelist"] == "mc-[0-1]"
        # By hand, as bursts are made there.
        there.flux("submit", "-N2", option, "--setattr=burstable", "--job-name=there", "true")
        there.services.until(lambda: there.jobs()["there"]["state"] == "SCHED", "a job of others")
        there.machine.good("cancel", "mc", there.jobs()["there"]["id"])
