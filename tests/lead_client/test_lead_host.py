"""A lead's DNS name by its MiniCluster alone is the one that its certificate has, and its pod."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.document import validate
from minicluster.lead_client.lead_host import lead_host
from minicluster.plan import Site
from minicluster.plan.objects import broker_service, names

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


def test_a_minimal_service_leads_to_the_lead() -> None:
    """And to its API, where there is one."""
    found = item(flux={"minimalService": True}, network={"headlessName": "brokers"})
    site = Site(namespace="team", lead_api=True)
    service = broker_service.build(validate(found), site)
    assert lead_host(found) == f"{service['metadata']['name']}.team.svc"
    ports = {each["name"]: each["port"] for each in service["spec"]["ports"]}
    assert ports == {"broker": 8050, "lead-api": site.lead_api_port}


def test_ports_are_not_named_twice() -> None:
    found = item(flux={"minimalService": True}, network={"port": 8443})
    service = broker_service.build(validate(found), Site(namespace="team", lead_api=True))
    assert [each["port"] for each in service["spec"]["ports"]] == [8443]


def test_where_the_lead_is_elsewhere_there_is_none() -> None:
    lead = {"address": "192.0.2.1", "name": "x", "size": 2}
    assert lead_host(item(flux={"bursting": {"leadBroker": lead}})) == ""
