"""What every provider does alike, by Google's own clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.burst.providers.kubernetes.test_conformance_of_fake import CASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.providers.conformance.rigs import Rig
    from tests.burst.providers.google.rigs import ComputeEngineRig, GkeClusterRig, GkeRig


@pytest.mark.parametrize("case", CASES)
def test_on_compute_engine(engine: ComputeEngineRig, case: Callable[[Rig], None]) -> None:
    case(engine)


@pytest.mark.parametrize("case", CASES)
def test_on_node_pools_of_gke(gke: GkeRig, case: Callable[[Rig], None]) -> None:
    case(gke)


@pytest.mark.parametrize("case", CASES)
def test_on_clusters_of_gke(own: GkeClusterRig, case: Callable[[Rig], None]) -> None:
    case(own)
