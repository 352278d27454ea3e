"""Many MiniClusters of one namespace hold those of another one up by a few, not by all."""

from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Api, ControlPlane
from tests.kubernetes import operators

CROWD = 120
MAX_BEFORE = 40
"""Some 16 are worked on at a time, and what is added later comes later."""
SECRETS = "/api/v1/namespaces/{}/secrets"
NO_PODS = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-pods"},
    "spec": {"hard": {"pods": "0"}},
}
HEAVY = {"containers": [{"image": "example.org/app:1", "command": "`\n" * 20_000, "batch": True}]}
SPECS = {"light": ({}, CROWD, MAX_BEFORE), "heavy": (HEAVY, 16, 6)}


def made(api: Api, namespace: str) -> dict[str, int]:
    """Return when each MiniCluster had its first Secret, as a resourceVersion: nothing changes a Secret."""
    firsts: dict[str, int] = {}
    for each in api.items(SECRETS.format(namespace)):
        about = each["metadata"]
        name, version = about["ownerReferences"][0]["name"], int(about["resourceVersion"])
        firsts[name] = min(version, firsts.get(name, version))
    return firsts


@pytest.mark.parametrize(("spec", "crowd", "max_before"), SPECS.values(), ids=SPECS)
def test_few_of_a_crowd_are_made_before_those_of_other_namespaces(
    plane: ControlPlane, namespace: str, tmp_path: Path, spec: dict[str, Any], crowd: int, max_before: int
) -> None:
    """The operator begins with all of them, as one that has just taken over does.

    16 are worked on at a time, and 2 heavy ones. Some more come before the last in the list, as the operator
    hears of it after all others. Without turns it is all of them.
    """
    api = plane.api
    others = (f"a-{namespace}", f"z-{namespace}")  # the first and the last in a list of all
    for each in others:
        api.create("/api/v1/namespaces", {"metadata": {"name": each}})
    for each in (namespace, *others):
        api.create(f"/api/v1/namespaces/{each}/resourcequotas", NO_PODS)
    names = [f"crowd-{number}" for number in range(crowd)]
    operators.create(api, others[0], **spec)
    for name in names:
        operators.create(api, namespace, name, **spec)
    operators.create(api, others[1], **spec)
    with operators.running(operators.account(plane), tmp_path / "log"):
        for name in names:
            operators.created(api, namespace, name)
        for each in others:
            operators.created(api, each)
    latest = max(version for each in others for version in made(api, each).values())
    for each in others:
        api.delete(f"/api/v1/namespaces/{each}")
    before = sum(version < latest for version in made(api, namespace).values())
    print(f"{before} of {crowd} were made before")
    assert before <= max_before
