"""Machines that are no pods boot, join a lead behind a NodePort, run a job, and switch themselves off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from burst.joining.machines import console_problem
from tests.devcluster import until
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.machine_leads import USER, lead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.live import Live
    from tests.kubernetes.operators import Operator


def test_a_machine_joins_runs_a_job_and_is_switched_off_where_its_lead_is_lost(
    live: Live, nodes: ControlPlane, nodes_operator: Operator, tmp_path: Path
) -> None:
    """And its token is used by then: another machine that has it does not join."""
    with lead(live, nodes, nodes_operator, tmp_path) as near:
        join = replace(near.join(), leave_after=6.0)
        metadata = near.metadata(join)
        machine = near.boot(0, metadata)
        until(lambda: "burst-0-0" in near.up(), f"the machine to join: {machine.console}", SECONDS)
        code, printed = near.result(near.submit("sh", "-c", "id -u; cat /etc/hosts"))
        assert (code, printed.splitlines()[0]) == (0, str(USER))
        assert "metadata.google.internal" in printed, "it ran there"

        thief = near.boot(0, metadata)
        assert "answers 403: the token was used before: it is good once" in thief.went_off()

        found = machine.in_its_root(
            "sh", "-c", "stat -c '%a %u %n' /var/lib/minicluster/*.cert /etc/minicluster"
        )
        assert found.splitlines() == [f"400 {USER} /var/lib/minicluster/curve.cert", "755 0 /etc/minicluster"]
        near.submit("sleep", "1000")
        until(lambda: "sleep" in machine.in_its_root("ps", "-e", "-o", "comm"), "its job", SECONDS)
        machine.cut()
        console = machine.went_off()
        assert "no lead for 6 s: this follower leaves for good" in console
        assert console_problem(console).endswith("its broker has left for good: the machine is switched off")
        secrets = (join.certificate.split('secret-key = "')[1][:40], *metadata["minicluster-tokens"].split())
        assert not any(each in console for each in secrets)
