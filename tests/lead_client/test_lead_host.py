"""A lead's DNS name by its MiniCluster alone is the one that its certificate has, and its pod."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.document import validate
from minicluster.lead_client.lead_host import lead_host
from minicluster.plan.objects import names

SPEC: dict[str, Any] = {"size": 2, "containers": [{"image": "example.org/app:1"}]}


def item(**spec: Any) -> dict[str, Any]:
    """Return a MiniCluster `mc` in `team`."""
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": "mc", "namespace": "team"},
        "spec": {**SPEC, **spec},
    }


@pytest.mark.parametrize("network", [{}, {"headlessName": "brokers"}], ids=["its name", "another name"])
def test_it_is_the_name_of_the_leads_pod(network: dict[str, str]) -> None:
    found = item(network=network)
    assert lead_host(found) == names.lead_hosts(validate(found))[0]


@pytest.mark.parametrize(
    "flux",
    [
        {"minimalService": True},
        {"bursting": {"leadBroker": {"address": "192.0.2.1", "name": "x", "size": 2}}},
    ],
    ids=["a Service without names", "the lead is elsewhere"],
)
def test_there_is_none(flux: dict[str, Any]) -> None:
    assert lead_host(item(flux=flux)) == ""
