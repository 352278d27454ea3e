"""`start.sh relay` and `start.sh shell` beside a broker of real Flux: as people in a cluster use them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from broker_config.settings import BrokerSettings, HookScripts
from minicluster import flux_zips
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.links.process_channel import ProcessChannel
from minicluster.instance.records import JobRequest
from minicluster.instance.rpc_instance import RpcInstance

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def mc(cluster):
    """A broker that stays up, with a variable of the document's and one of a hook's."""
    settings = BrokerSettings(
        "mc", size=1, environment={"GREETING": "hello"}, hooks=HookScripts(broker_pre="export LATE=late")
    )
    made = cluster(settings)
    (made.directory / "config" / flux_zips.ZIP).write_bytes(flux_zips.pack())
    made.start().online(1)
    return made


def visit(mc, *words: str) -> list[str]:
    """The command that `pods/exec` would run in the container, with the container's environment."""
    variables = [f"{name}={value}" for name, value in mc.environment(0).items()]
    return ["env", *variables, "sh", str(mc.directory / "config" / "start.sh"), *words]


@pytest.fixture
def instance(mc) -> Iterator[RpcInstance]:
    channel = ProcessChannel(visit(mc, "relay"), "the relay")
    with RpcInstance(LinesEndpoint("cluster mc", channel, inherits_environment=False)) as connected:
        yield connected


def test_the_relay_speaks_for_real_flux(instance) -> None:
    assert (instance.engine, [broker.host for broker in instance.nodes.brokers()]) == ("flux", ["mc-0"])


def test_a_job_from_afar_has_the_brokers_environment(instance) -> None:
    """What the document and the hooks set: the same as `flux submit` in the pod would send."""
    jobid = instance.jobs.submit(JobRequest(("sh", "-c", "echo $GREETING $LATE")))
    with instance.jobs.output(jobid, follow=True) as chunks:
        assert b"".join(chunk.data for chunk in chunks) == b"hello late\n"
    assert instance.jobs.wait(jobid, 30).returncode == 0


def test_in_a_shell_flux_speaks_to_the_instance(mc) -> None:
    words = visit(mc, "shell", "--", "flux", "getattr", "hostlist")
    done = subprocess.run(words, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "mc-0\n"), done.stderr
