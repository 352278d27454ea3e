"""What the shipped roles give to people is enough for every command, and no more than they need to look."""

import base64
import json
from pathlib import Path

import pytest
import yaml

from tests.devcluster import Api, ControlPlane, until
from tests.kubernetes.command_line import RBAC, CommandLine, Operator, document, member, written
from tests.release_0_1_0.adapters import DATA

MANIFEST = Path(__file__).parents[3] / "deploy" / "manifests" / "crd.yaml"
CONFIGURATION = {"managed-by": "minicluster", "component": "configuration", "instance": "mc"}
AGGREGATE = f"{RBAC}/aggregate-to-"
ROLES = f"/apis/{RBAC}/v1/clusterroles"


@pytest.fixture(scope="session")
def roles(own_plane: ControlPlane | None) -> None:
    """Add the shipped roles to the built-in ones."""
    if own_plane is None:
        return
    shipped = [
        each
        for each in yaml.safe_load_all(MANIFEST.read_text())
        if each and any(key.startswith(AGGREGATE) for key in each["metadata"].get("labels") or {})
    ]
    for role in shipped:
        own_plane.api.apply(f"{ROLES}/{role['metadata']['name']}", role)
    for name in ("view", "edit", "admin"):
        until(lambda name=name: knows(own_plane.api, name), f"{name} to know MiniClusters")


def knows(api: Api, role: str) -> bool:
    rules = api.get(f"{ROLES}/{role}").get("rules") or []
    return any("miniclusters" in each.get("resources", ()) for each in rules)


def test_whoever_may_edit_can_do_everything(
    roles: None, plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    editor = member(plane, namespace, "edit")
    path = written(tmp_path, document())
    for words in (
        ("validate", path),
        ("up", path, "--no-wait"),
        ("status", "mc"),
        ("scale", "mc", 3, "--no-wait"),
        ("suspend", "mc", "--no-wait"),
        ("resume", "mc", "--no-wait"),
        ("render", path),
        ("down", "mc"),
    ):
        done = editor(*words)
        assert (done.returncode, done.stderr) == (0, ""), words


@pytest.mark.parametrize("command", ["list", "status mc"])
def test_whoever_may_view_can_read(roles: None, plane: ControlPlane, namespace: str, command: str) -> None:
    Operator(plane.api, namespace).make()
    done = member(plane, namespace, "view")(*command.split())
    assert (done.returncode, done.stderr) == (0, "")


def test_whoever_may_view_sees_the_versions(roles: None, plane: ControlPlane, namespace: str) -> None:
    """The operator's by what it has written in the namespace: Deployments elsewhere are denied."""
    Operator(plane.api, namespace).make()
    viewer = member(plane, namespace, "view")
    _, denied = versions(viewer)["operator"]
    assert 'cannot list resource "deployments"' in denied
    labels = {f"app.kubernetes.io/{key}": text for key, text in CONFIGURATION.items()}
    packed = {"flux_modules.zip": base64.b64encode((DATA / "flux_modules.zip").read_bytes()).decode()}
    plane.api.create(
        f"/api/v1/namespaces/{namespace}/configmaps",
        {"metadata": {"name": "mc-config", "labels": labels}, "binaryData": packed},
    )
    found = versions(viewer)
    assert found["operator"] == (
        "0.1.0",
        (
            f"by ConfigMap mc-config in namespace {namespace}, which it wrote last;"
            " whether it still runs you may not see"
        ),
    )
    assert found["CRD"] == ("v1alpha2", "the fields of this program")
    assert found["Kubernetes"][0].startswith("v1.")


def versions(program: CommandLine) -> dict[str, tuple[str, str]]:
    """Return the versions and notes by component."""
    shown = json.loads(program("version", "--output", "json").stdout)
    return {each["component"]: (each["version"], each["note"]) for each in shown}


@pytest.mark.parametrize(
    ("command", "verb"), [("scale mc 3", "patch"), ("down mc", "delete")], ids=["scale", "down"]
)
def test_whoever_may_view_cannot_change(
    roles: None, plane: ControlPlane, namespace: str, command: str, verb: str
) -> None:
    Operator(plane.api, namespace).make()
    done = member(plane, namespace, "view")(*command.split())
    assert (done.returncode, f"Needed is the verb {verb} on miniclusters" in done.stderr) == (1, True)
