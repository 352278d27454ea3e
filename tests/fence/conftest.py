from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker import launcher
from minicluster.instance.connection import is_flux_core
from tests.fence.near_and_far import NearAndFar

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["embedded", "flux"])
def sides(request: pytest.FixtureRequest) -> Iterator[NearAndFar]:
    """A lead and a follower, neither of which is started; at the end nothing is left of them."""
    directory = Path(tempfile.mkdtemp(prefix="mcf-"))  # short: it has sockets
    if request.param == "embedded":
        programs = launcher.write_bin(directory / "bin").parent
    else:
        found = shutil.which("flux")
        if found is None or not is_flux_core(found):
            pytest.skip("no flux-core on PATH")
        programs = Path(found).parent
    made = NearAndFar(directory, programs, request.param)
    yield made
    made.end()
    shutil.rmtree(directory)
