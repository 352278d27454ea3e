"""What every provider of bursts does alike, on a real API server with a job controller and fake nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.burst.providers.conformance import test_conformance
from tests.burst.providers.conformance.rigs import KubernetesRig

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.devcluster import Api, ControlPlane

NODES = 4
CASES = [
    pytest.param(case, id=name.removeprefix("test_"))
    for name, case in vars(test_conformance).items()
    if name.startswith("test_")
]


@pytest.fixture
def rig(plane: ControlPlane, api: Api, namespace: str) -> KubernetesRig:
    """A namespace of the test's own, and nodes for its pods."""
    plane.add_fake_nodes(NODES)
    return KubernetesRig(api, namespace)


@pytest.mark.parametrize("case", CASES)
def test_on_an_api_server(rig: KubernetesRig, case: Callable[[KubernetesRig], None]) -> None:
    case(rig)
