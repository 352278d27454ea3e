"""On real nodes a program grows and shrinks while it runs: its tasks are in pods of their own."""

import itertools
import re
from pathlib import Path

import pytest

from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.harness import ControlPlane, node_images, until
from tests.kubernetes.live import SECONDS, Live

PROGRAM = Path(__file__).parents[2] / "examples/queens/queens.py"
ELASTIC = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]


def test_a_program_gives_way_to_urgent_jobs_and_comes_back(nodes: ControlPlane, live: Live) -> None:
    """Boards go between pods, and all ways to put the queens are found once."""
    if live.image == node_images.REAL:
        pytest.skip("programs there have no minicluster; tests/flux_modules/test_companions.py has real Flux")
    program = {"metadata": {"name": "program"}, "data": {"queens.py": PROGRAM.read_text()}}
    nodes.api.create(f"/api/v1/namespaces/{live.namespace}/configmaps", program)
    live.create(
        {"volumes": {"program": {"configMapName": "program", "path": "/program"}}},
        size=4,
        interactive=True,
        flux={
            "container": {"disable": True},
            "scheduler": {"queuePolicy": "minicluster/priority-elastic", "settings": {"gap": 0}},
        },
    )
    live.joined(4)
    minicluster = CommandLine(nodes.kubeconfig, live.namespace)

    def flux(*words: str) -> str:
        done = minicluster.process("shell", live.name, "--", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    flux("touch", "/tmp/hold")
    words = ["python3", "/program/queens.py", "11", "--pause", "0.01", "--hold", "/tmp/hold"]
    job = flux("flux", "submit", *ELASTIC, "-N1", *words)

    def hosts() -> set[str]:
        return set(flux("flux", "jobs", "-no", "{nodelist}", job).split()) or {""}

    for _ in range(2):
        until(lambda: hosts() == {f"{live.name}-[0-3]"}, "the program to be on all nodes", SECONDS)
        flux("flux", "run", "-N2", "--urgency=20", "true")
    until(lambda: hosts() == {f"{live.name}-[0-3]"}, "the program to be on all nodes again", SECONDS)
    flux("rm", "/tmp/hold")
    attached = minicluster("attach", live.name, job)
    assert attached.returncode == 0, attached.stderr
    assert "checked: right" in attached.stdout
    (sizes,) = re.findall(r"on ([\d →]+) tasks", attached.stdout)
    changes = [int(size) for size in sizes.split(" → ")]
    assert sum(later < earlier for earlier, later in itertools.pairwise(changes)) >= 2
    assert sum(later > earlier for earlier, later in itertools.pairwise(changes)) >= 2
