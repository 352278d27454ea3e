"""On real nodes a job makes the MiniCluster larger in which it runs; by the zip that every pod has."""

import yaml

from tests.devcluster import ControlPlane
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import Live
from tests.kubernetes.operator.test_scaling_from_within import EXAMPLE, NAME, PATHS

GROW = """
import os, sys
sys.path.append(os.environ["MINICLUSTER_CONFIG"] + "/flux_modules.zip")
import minicluster
minicluster.scale(3)
"""


def test_a_job_makes_its_own_minicluster_larger(
    nodes: ControlPlane, live: Live, minicluster: CommandLine
) -> None:
    """A job that needs more nodes than there are waits for them."""
    (item,) = (each for each in yaml.safe_load_all(EXAMPLE.read_text()) if each["kind"] == "MiniCluster")
    for other in yaml.safe_load_all(EXAMPLE.read_text()):
        if other["kind"] != "MiniCluster":
            nodes.api.create(PATHS[other["kind"]].format(live.namespace), other)
    growing = Live(nodes.api, live.namespace, NAME, live.image)
    growing.create(**{key: value for key, value in item["spec"].items() if key != "containers"})
    growing.joined(1)
    asked = minicluster("submit", NAME, "--", "python3", "-c", GROW)
    done = minicluster("attach", NAME, asked.stdout.strip())
    assert done.returncode == 0, asked.stderr + done.stderr
    wide = minicluster("submit", NAME, "-N", 3, "--", "hostname").stdout.strip()
    hosts = {f"{rank}: {NAME}-{rank}" for rank in range(3)}
    assert set(minicluster("attach", NAME, wide).stdout.splitlines()) == hosts
    growing.joined(3)
