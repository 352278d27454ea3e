"""A MiniCluster is saved, and made again by an operator that cuts brokers in another way: jobs go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from minicluster.instance.records import JobRequest
from tests.devcluster import ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.archived import Archived
from tests.kubernetes.ledger import commands
from tests.kubernetes.live import SECONDS, Live

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from minicluster.instance.port import Instance
    from tests.kubernetes.operators import Operator

pytestmark = pytest.mark.timeout(900)
TWO_CPUS = {"limits": {"cpu": "2", "memory": "512Mi"}}
WISHES: dict[str, Any] = {"profile": "cpu", "drainTimeoutSeconds": 2, "resources": TWO_CPUS}


@pytest.fixture
def operator(
    nodes: ControlPlane, space: str, tmp_path: Path
) -> Callable[[str], AbstractContextManager[Operator]]:
    """Run an operator with a granularity, for the test's namespace alone."""
    kubeconfig = operators.account(nodes)
    operators.grant_nodes(nodes.api)
    usual = ("--namespace", space, "--no-leader-election", "--granularity")
    return lambda rule: operators.running(kubeconfig, tmp_path / "operator.log", *usual, rule)


def submit_large(archived: Archived) -> str:
    """Send a job that needs both CPUs on one broker; return its id."""
    (command,) = commands(len(archived.ledger.ids), (0.2,))
    wanted = JobRequest(command, cores_per_task=2)

    def send(instance: Instance) -> str:
        return f58(instance.jobs.submit(wanted))

    archived.ledger.ids.append(archived.ledger.instance.ask_anew(send))
    return archived.ledger.ids[-1]


def test_made_again_with_another_granularity(
    operator: Callable[[str], AbstractContextManager[Operator]],
    nodes: ControlPlane,
    space: str,
    engine: str,
    tmp_path: Path,
) -> None:
    """One broker of two CPUs, two of one, and one again, for which the job waits that needs both CPUs."""
    archived = Archived(Live(nodes.api, space, image=engine), nodes, tmp_path)
    with operator("none"):
        archived.create(1, **WISHES)
        archived.ledger.submit()
        large = submit_large(archived)
        waiting = archived.pending()
        assert large in waiting
        archived.live.delete()
        archived.event("Saved")
        archived.gone()
    archived.release()
    with operator("granularity"):
        archived.create(1, brokers=2, **WISHES)
        assert archived.live.status["granularity"]["brokers"] == 2
        others = {*range(len(archived.ledger.ids) - 1)}
        until(lambda: archived.ledger.written().keys() == others, "the other jobs to complete", SECONDS)
        assert archived.pending() == {large}
        archived.live.delete()
        archived.gone()
    with operator("none"):
        archived.create(1, **WISHES)
        archived.completed()
