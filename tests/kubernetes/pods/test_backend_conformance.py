"""What every back end does alike, where brokers run: on real nodes, with each engine."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from minicluster.remote import backend as remote
from tests.backends.conformance.cases import CASES, INSTANCE_CASES, Scene, Teller
from tests.kubernetes import operators
from tests.kubernetes.live import DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kubernetes.live import Live

pytestmark = pytest.mark.timeout(600)
SECONDS = 300.0
EVERY = [pytest.param(case, id=case.__name__) for case in (*CASES, *INSTANCE_CASES)]


@pytest.fixture
def scene(live: Live) -> Scene:
    """A namespace of the test's own, whose operator makes pods; what is asked for is waited for."""
    access = live.api.access
    given = {
        "namespace": live.namespace,
        "context": access.context or "",
        "kubeconfig": str(access.kubeconfig),
        "all_namespaces": False,
        "image": "",
        "force": False,
        "wait": True,  # of a cluster without a main command: until it runs
        "timeout": SECONDS,
    }
    spec = copy.deepcopy(DOCUMENT["spec"])
    spec["containers"][0]["image"] = live.image

    def runs(name: str) -> None:
        """Wait until all brokers have joined."""
        operators.settled(live.api, live.namespace, name, BrokersReady=("True", "AllJoined"))

    return Scene(remote.KIND.open(given, Teller()), {**spec, "size": 2}, runs)


@pytest.mark.parametrize("case", EVERY)
def test_on_nodes(scene: Scene, case: Callable[[Scene], None]) -> None:
    case(scene)
