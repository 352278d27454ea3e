"""An instance of each engine with a node of its own, and a slot of one node, also by its lead's API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker.launcher import write_bin
from minicluster.instance.connection import connect, real_flux
from minicluster.instance.errors import NoEngine
from minicluster.instance.records import JobFilter, JobState
from minicluster.lead_client.purpose_keys import BURST
from tests.conformance import bindings
from tests.conformance.laboratory import Laboratory, eventually
from tests.restful.conftest import short_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.port import Instance

QUEUES = """
[policy.jobspec.defaults.system]
queue = "default"
[queues.default]
requires = ["local"]
[queues.burst-0]
requires = ["burst-0"]
[job-manager]
plugins = [{load = "alloc-bypass.so"}]
"""


@pytest.fixture(scope="session", params=["embedded", "lead", "flux", "lead-handle"])
def laboratory(request: pytest.FixtureRequest) -> Iterator[Laboratory]:
    """Rank 0 is the instance's own, rank 1 the slot's."""
    with short_directory() as folder:
        try:
            is_real = request.param in ("flux", "lead-handle")
            flux = Path(real_flux()).parent if is_real else write_bin(folder / "bin").parent
            if request.param == "lead-handle":
                bindings.need(str(flux / "flux"))
        except (NoEngine, ImportError) as reason:
            pytest.skip(str(reason))
        engine = "flux" if is_real else "embedded"
        made = Laboratory(engine, flux, folder / "i", QUEUES, reached=request.param, purpose=BURST)
        made.properties = {"local": "0", "burst": "1", "burst-0": "1"}
        made.start("-Sbroker.quorum=1")
        yield made
        made.stop()


@pytest.fixture
def instance(laboratory: Laboratory) -> Iterator[Instance]:
    """A connection to it; afterwards no job, drain or started queue is left."""
    with laboratory.connect() as connected:
        yield connected
    with connect(laboratory.uri) as connected:
        connected.jobs.cancel_all()
        connected.queues.stop()
        for drain in connected.nodes.resources().drains:
            connected.nodes.undrain(drain.ranks)
        active = JobFilter(states=JobState.ACTIVE)
        eventually(lambda: not connected.jobs.find(active), "no job is left")
