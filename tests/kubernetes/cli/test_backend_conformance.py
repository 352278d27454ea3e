"""What every back end does alike, over a real API server; there is no operator, and so no pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster.remote import backend as remote
from tests.backends.conformance import cases
from tests.backends.conformance.cases import Scene, Teller
from tests.devcluster import until
from tests.kubernetes.command_line import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.devcluster import Api

# A MiniCluster that no operator has seen neither runs nor settles: what is asked of it is not waited for.
CASES = [pytest.param(case, id=case.__name__) for case in cases.CASES]


@pytest.fixture
def scene(api: Api, namespace: str) -> Scene:
    """A namespace of the test's own."""
    given = {
        "namespace": namespace,
        "context": api.access.context or "",
        "kubeconfig": str(api.access.kubeconfig),
        "all_namespaces": False,
        "image": "",
        "force": False,
        "wait": False,
        "timeout": 60.0,
    }
    operator = Operator(api, namespace)

    def ends(name: str) -> None:
        """Wait until it is gone."""
        until(lambda: not operator.exists(name), "its end")

    return Scene(remote.KIND.open(given, Teller()), ends=ends)


@pytest.mark.parametrize("case", CASES)
def test_on_an_api_server(scene: Scene, case: Callable[[Scene], None]) -> None:
    case(scene)
