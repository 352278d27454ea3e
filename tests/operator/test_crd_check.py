"""What the operator says of a CRD in which it could not remember what it does."""

import asyncio
import gzip
from typing import Any

import yaml

from minicluster.document import crd
from minicluster.kube_client.errors import ApiError
from minicluster.operator import crd_check
from tests.operator.stub_api_server import DISCOVERY
from tests.release_0_1_0.adapters import DATA

OPENAPI = "/openapi/v3/apis/flux-framework.org/v1alpha2"
KIND = {"group": "flux-framework.org", "version": "v1alpha2", "kind": "MiniCluster"}


class Discovery:
    """A client of an API server that serves the kinds of `found`, all else being unknown."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found

    async def get(self, path: str) -> dict[str, Any]:
        if path not in self.found:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        answer: dict[str, Any] = self.found[path]
        return answer


def trouble(**found: Any) -> str:
    """Return what is said where the API server's answers are these besides."""
    return asyncio.run(crd_check.trouble(Discovery({**DISCOVERY, **found})))


def published(definition: dict[str, Any]) -> dict[str, Any]:
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return {"components": {"schemas": {"it": {**schema, "x-kubernetes-group-version-kind": [KIND]}}}}


def test_the_operators_own_crd_is_right() -> None:
    assert trouble(**{OPENAPI: published(crd())}) == ""


def test_without_a_crd_it_is_to_be_installed() -> None:
    message = trouble(**{"/apis": {"groups": []}})
    assert "install the CRD: minicluster crd | kubectl apply --server-side -f -" in message


def test_a_schema_that_is_not_published_yet_is_waited_for() -> None:
    assert "has not published the fields of MiniClusters yet" in trouble(**{OPENAPI: {"openapi": "3.0.0"}})


def test_the_crd_of_0_1_0_lacks_what_is_remembered() -> None:
    old = yaml.safe_load(gzip.decompress((DATA / "crd.yaml.gz").read_bytes()))
    assert trouble(**{OPENAPI: published(old)}) == (
        "the CRD is older than this operator: it lacks status.lead, status.save, status.resize,"
        " status.nodeLoss, status.leadLoss and 4 more, without which a save or a resize would be"
        " forgotten."
        " Install the newer one: minicluster crd | kubectl apply --server-side -f -"
    )


def test_the_crd_of_another_operator_is_no_older_one() -> None:
    """The reference's has the same name, and other fields of the status."""
    definition = crd()
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    fields["status"]["properties"] = {"jobid": {"type": "string"}, "maximumSize": {"type": "integer"}}
    assert trouble(**{OPENAPI: published(definition)}) == (
        "the CRD of MiniClusters is another operator's (the reference Flux Operator's has that name): delete"
        " its MiniClusters, end that operator, then put this one's in place: minicluster crd | kubectl apply"
        " --server-side --force-conflicts -f -"
    )


def test_of_many_fields_the_first_are_named() -> None:
    assert "status.a, status.b, status.c, status.d, status.e and 2 more, without" in crd_check.too_old(
        list("abcdefg")
    )
