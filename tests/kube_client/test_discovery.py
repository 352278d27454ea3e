"""What an API server is asked about itself."""

import asyncio
from typing import Any

import pytest

from minicluster.kube_client import discovery
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import JOBS, MINICLUSTERS

KIND = {"group": "flux-framework.org", "version": "v1alpha2", "kind": "MiniCluster"}
OPENAPI = "/openapi/v3/apis/flux-framework.org/v1alpha2"


class Answers:
    """A client of an API server that has these answers by path, and none besides."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    async def get(self, path: str) -> dict[str, Any]:
        if path not in self.answers:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        found: dict[str, Any] = self.answers[path]
        return found


def served(group: str, *versions: str, resources: tuple[str, ...] = ()) -> Answers:
    group_versions = [{"version": each} for each in versions]
    listed = {"resources": [{"name": each} for each in resources]}
    groups = {"groups": [{"name": group, "versions": group_versions}]}
    return Answers({"/apis": groups, **{f"/apis/{group}/{each}": listed for each in versions}})


@pytest.mark.parametrize(("minor", "expected"), [("36", (1, 36)), ("31+", (1, 31))])
def test_the_version_is_a_number_whatever_a_vendor_adds(minor: str, expected: tuple[int, int]) -> None:
    answers = Answers({"/version": {"major": "1", "minor": minor}})
    assert asyncio.run(discovery.version(answers)) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(served("flux-framework.org", "v1alpha2", resources=("miniclusters",)), True, id="yes"),
        pytest.param(served("flux-framework.org", "v1alpha2"), False, id="not its kind yet"),
        pytest.param(
            served("flux-framework.org", "v1alpha1", resources=("miniclusters",)), False, id="another version"
        ),
        pytest.param(served("apps", "v1"), False, id="another group"),
        pytest.param(
            Answers({"/apis": served("flux-framework.org", "v1alpha2").answers["/apis"]}),
            False,
            id="its group alone yet",
        ),
    ],
)
def test_a_kind_is_served_once_discovery_names_it(answers: Answers, expected: bool) -> None:
    assert asyncio.run(discovery.serves(answers, MINICLUSTERS)) is expected


def test_a_schema_is_found_by_its_kind() -> None:
    schemas = {
        "list": {"x-kubernetes-group-version-kind": [{**KIND, "kind": "MiniClusterList"}]},
        "one": {"x-kubernetes-group-version-kind": [KIND], "properties": {"spec": {}}},
    }
    answers = Answers({OPENAPI: {"components": {"schemas": schemas}}})
    assert asyncio.run(discovery.schema(answers, MINICLUSTERS)) == schemas["one"]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({}, id="nothing published"),
        pytest.param({OPENAPI: {"openapi": "3.0.0"}}, id="without schemas"),
        pytest.param({OPENAPI: {"components": {"schemas": {"other": {}}}}}, id="without the kind"),
    ],
)
def test_a_schema_may_not_be_published_yet(answers: dict[str, Any]) -> None:
    assert asyncio.run(discovery.schema(Answers(answers), MINICLUSTERS)) is None


def test_a_refusal_is_not_taken_for_no_schema() -> None:
    class Refusing:
        async def get(self, path: str) -> dict[str, Any]:
            raise ApiError(403, "Forbidden", f"cannot get {path}")

    with pytest.raises(ApiError, match="cannot get /openapi/v3/apis/batch/v1"):
        asyncio.run(discovery.schema(Refusing(), JOBS))


def test_missing_fields_are_named_where_they_begin() -> None:
    """Those in lists and maps too; a field that takes anything lacks nothing."""
    leaf = {"type": "string"}
    wanted = {
        "properties": {
            "kept": leaf,
            "gone": {"properties": {"inner": leaf}},
            "free": {"properties": {"any": leaf}},
            "list": {"items": {"properties": {"old": leaf, "new": leaf}}},
            "map": {"additionalProperties": {"properties": {"key": leaf}}},
        }
    }
    found = {
        "properties": {
            "kept": leaf,
            "more": leaf,
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "list": {"items": {"properties": {"old": leaf}}},
            "map": {"additionalProperties": {"properties": {}}},
        }
    }
    assert discovery.missing_fields(wanted, found) == ["gone", "list.new", "map.key"]
    assert discovery.missing_fields(wanted, wanted) == []
