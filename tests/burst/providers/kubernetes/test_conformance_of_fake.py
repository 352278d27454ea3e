"""What every provider does alike, with the server that fails: no cluster is needed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.joining.workers import LABEL_OWNER
from burst.lifecycle.records import PREFIX
from tests.burst.providers.conformance import test_conformance
from tests.burst.providers.kubernetes.fake_api import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.lifecycle.records import ResourceKey
    from tests.burst.providers.conformance.rigs import Rig
    from tests.burst.providers.kubernetes.conftest import FarCluster

CASES = [
    pytest.param(case, id=name.removeprefix("test_"))
    for name, case in vars(test_conformance).items()
    if name.startswith("test_")
]


class FakeServerRig:
    """A provider of the server that fails, where everything is done at once."""

    machine = "c8"

    def __init__(self, far: FarCluster) -> None:
        self.provider = far.provider
        self.api = far.api

    def wait(self) -> None:
        pass

    def occupy(self, key: ResourceKey) -> None:
        body = {"kind": "ConfigMap", "metadata": {"name": key.name}}
        self.api.add(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{key.name}", body)

    def others(self) -> int:
        found = [each["metadata"] for each in self.api.of("configmaps")]
        return sum(
            each["name"].startswith(PREFIX) and LABEL_OWNER not in each.get("labels", {}) for each in found
        )


@pytest.mark.parametrize("case", CASES)
def test_on_a_server_that_fails(far: FarCluster, case: Callable[[Rig], None]) -> None:
    case(FakeServerRig(far))
