"""What machines do that cannot join, and those that boot again, beside the short case of every run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from burst.joining import machine_boot
from burst.joining.machines import TOKEN_SECONDS
from tests.devcluster import until
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.machine_leads import lead

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.live import Live
    from tests.kubernetes.operators import Operator

KILL_SCRIPT = """
for each in /proc/[0-9]*; do
    case $(tr '\\0' ' ' <"$each/cmdline") in
        '/bin/sh /etc/minicluster/start.sh '*) kill -KILL "${each#/proc/}" ;;
    esac
done
"""


def with_lead(metadata: Mapping[str, str], **other: Any) -> dict[str, str]:
    """Return metadata of a lead with something else."""
    task = json.loads(metadata[machine_boot.TASK])
    return {**metadata, machine_boot.TASK: json.dumps({**task, "lead": {**task["lead"], **other}})}


def test_machines_that_may_not_join_write_why_and_are_switched_off(
    live: Live, nodes: ControlPlane, nodes_operator: Operator, tmp_path: Path
) -> None:
    with lead(live, nodes, nodes_operator, tmp_path) as near:
        join = near.join()
        assert join.machines is not None
        good, late = near.metadata(join), near.metadata(join, time.time() - TOKEN_SECONDS - 5)
        address = f"{join.machines.address}:{join.machines.port}"
        forged = good[machine_boot.TOKENS].replace(".", ".1", 1)
        broken = {key: value for key, value in good.items() if key != machine_boot.TOKENS}
        cases = {
            f"the lead's API at {address} answers 403: the time of the token is over": late,
            f"{address} shows a certificate with the fingerprint {join.machines.fingerprint}, not": with_lead(
                good, fingerprint="ab" * 32
            ),
            "answers 401: the token is not good here": {**good, machine_boot.TOKENS: forged},
            "its metadata has no minicluster-tokens: it is no machine of a burst": broken,
            "its number is 7, and its burst has 2 machines": {**good, machine_boot.NUMBER: "7"},
        }
        started = {why: near.boot(0, metadata) for why, metadata in cases.items()}
        for why, machine in started.items():
            assert why in machine.went_off(), why
        assert near.up() == {f"{live.name}-0"}


def test_one_that_boots_again_joins_with_what_it_has(
    live: Live, nodes: ControlPlane, nodes_operator: Operator, tmp_path: Path
) -> None:
    """Its token is used by then. Of a start script that is killed nothing is left beside the next one."""
    with lead(live, nodes, nodes_operator, tmp_path) as near:
        machine = near.boot(1, near.metadata(replace(near.join(), leave_after=60.0)))
        until(lambda: "burst-0-1" in near.up(), "the machine to join", SECONDS)
        machine.in_its_root("sh", "-c", KILL_SCRIPT)
        again = "the start script ended with -9; it is started again"
        until(lambda: again in machine.console, "a new start script", SECONDS)
        until(lambda: "burst-0-1" not in near.up(), "the old broker to be gone", SECONDS)
        until(lambda: "burst-0-1" in near.up(), "the machine to join again", SECONDS)
        assert near.result(near.submit("true"))[0] == 0

        machine.reset()
        until(lambda: machine.console.count("it has the certificate") == 2, "another boot", SECONDS)
        until(lambda: "burst-0-1" in near.up(), "the machine to join after its boot", SECONDS)
        assert near.result(near.submit("true"))[0] == 0
        assert not machine.is_off


def test_a_lead_that_ends_its_instance_ends_machines(
    live: Live, nodes: ControlPlane, nodes_operator: Operator, tmp_path: Path
) -> None:
    with lead(live, nodes, nodes_operator, tmp_path) as near:
        machine = near.boot(0, near.metadata(near.join()))
        until(lambda: "burst-0-0" in near.up(), "the machine to join", SECONDS)
        live.change(suspend=True)
        console = machine.went_off(SECONDS)
        assert "its broker has left for good: the machine is switched off" in console
