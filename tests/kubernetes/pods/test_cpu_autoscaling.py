"""The classic autoscaler on real nodes: by the CPU usage of brokers' pods, as metrics-server measures it."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.devcluster import ControlPlane, until
from tests.kubernetes import metrics_servers
from tests.kubernetes.autoscalers import HPAS
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
EXAMPLE = Path(__file__).parents[3] / "examples/autoscaling/hpa-cpu.yaml"
BUSY = "while :; do :; done"


def test_a_busy_broker_gets_company_and_an_idle_one_is_left_alone(
    nodes: ControlPlane, live: Live, metrics_server: Path, tmp_path: Path
) -> None:
    """A program that computes makes the MiniCluster of the example grow; when it has ended, it shrinks."""
    live = replace(live, name="scaling")
    live.create({"resources": {"requests": {"cpu": "200m"}}}, size=1, minSize=1, maxSize=4, interactive=True)
    live.joined(1)
    minicluster = CommandLine(nodes.kubeconfig, live.namespace)
    with metrics_servers.running(nodes, metrics_server, tmp_path):
        live.api.create(HPAS.format(live.namespace), yaml.safe_load(EXAMPLE.read_text()))
        submitted = minicluster.process("submit", live.name, "--", "sh", "-c", BUSY)
        assert submitted.returncode == 0, submitted.stderr
        try:
            until(lambda: live.item["spec"]["size"] > 1, "the size to grow", SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}; {hpa(live)}\n{(tmp_path / 'log').read_text()}") from error
        cancelled = minicluster.process("cancel", live.name, submitted.stdout.split()[-1])
        assert cancelled.returncode == 0, cancelled.stderr
        until(lambda: live.item["spec"]["size"] == 1, "the size to shrink", SECONDS)
        live.until(Resizing=("False", "AtSize"))


def hpa(live: Live) -> object:
    """What the autoscaler says."""
    return live.api.get(f"{HPAS.format(live.namespace)}/{live.name}").get("status")
