"""On real nodes a program grows and shrinks while it runs: its tasks are in pods of their own."""

import base64
import io
import itertools
import re
import zipfile
from pathlib import Path

from broker_config.formats.jobid import parse
from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS, Live

ROOT = Path(__file__).parents[4]
PROGRAM = ROOT / "examples/queens/queens.py"
ELASTIC = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]
# Elsewhere than where the embedded instance's image has it: what programs import is enough for them.
LIBRARY = "--env=PYTHONPATH=/program/library.zip"


def library() -> str:
    """Pack what programs import, as an image of theirs would have it."""
    files = [ROOT / "minicluster/__init__.py", *sorted((ROOT / "minicluster/malleable").glob("*.py"))]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in files:
            archive.write(file, file.relative_to(ROOT))
    return base64.b64encode(packed.getvalue()).decode()


def test_a_program_gives_way_to_urgent_jobs_and_comes_back(
    nodes: ControlPlane, live: Live, minicluster: CommandLine
) -> None:
    """Boards go between pods, and all ways to put the queens are found once.

    On the embedded instance the job itself grows; on real Flux it has companions.
    """
    program = {
        "metadata": {"name": "program"},
        "data": {"queens.py": PROGRAM.read_text()},
        "binaryData": {"library.zip": library()},
    }
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
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)

    def flux(*words: str) -> str:
        done = minicluster.process("shell", live.name, "--", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    flux("touch", "/tmp/hold")
    words = ["python3", "/program/queens.py", "11", "--pause", "0.01", "--hold", "/tmp/hold"]
    job = flux("flux", "submit", *ELASTIC, LIBRARY, "-N1", *words)

    def everywhere() -> bool:
        if live.image != node_images.REAL:
            return instance.ask(lambda found: found.jobs.get(parse(job)).ranks) == "[0-3]"
        companions = flux("flux", "jobs", "-no", "{annotations.user.companions}", job)
        ranks = flux("flux", "jobs", "-no", "{ranks}", job, *filter(None, companions.split(",")))
        return sorted(ranks.split()) == ["0", "1", "2", "3"]

    for _ in range(2):
        until(everywhere, "the program to be on all nodes", SECONDS)
        flux("flux", "run", "-N2", "--urgency=20", "true")
    until(everywhere, "the program to be on all nodes again", SECONDS)
    if live.image != node_images.REAL:
        assert flux("flux", "jobs", "-no", "{ranks}", job) == "[0-3]"
    flux("rm", "/tmp/hold")
    attached = minicluster("attach", live.name, job)
    assert attached.returncode == 0, attached.stderr
    assert "checked: right" in attached.stdout
    (sizes,) = re.findall(r"on ([\d →]+) tasks", attached.stdout)
    changes = [int(size) for size in sizes.split(" → ")]
    assert sum(later < earlier for earlier, later in itertools.pairwise(changes)) >= 2
    assert sum(later > earlier for earlier, later in itertools.pairwise(changes)) >= 2
