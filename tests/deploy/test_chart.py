"""The chart's files agree with the project that they install, and with each other."""

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from deploy.render import files
from metrics_api.adapter.command import SERVICE
from metrics_api.adapter.command import app as adapter
from metrics_api.names import METRICS
from minicluster.cli.operator import app
from minicluster.document import crd, crd_yaml
from minicluster.plan.constants import LABEL_NAME, METRICS_APPLICATION, OPERATOR_APPLICATION
from tests.deploy.files import (
    CHART,
    INSTALL,
    KEPT,
    NAMESPACE,
    NAMESPACED,
    ROOT,
    Object,
    objects,
    of_kind,
    project,
    the,
)

ADAPTER = "minicluster-operator-adapter"
RELEASE = "minicluster-operator"
MANIFESTS = pytest.mark.parametrize("manifest", [INSTALL, NAMESPACED], ids=lambda path: path.stem)


def test_the_page_names_the_helm_that_the_tests_run() -> None:
    module = (ROOT / "tests" / "devcluster" / "programs" / "helm" / "go.mod").read_text()
    major, minor = re.findall(r"^require helm\.sh/helm/v\d+ v(\d+)\.(\d+)", module, re.MULTILINE)[0]
    assert f"the tests run {major}.{minor}:" in (ROOT / "docs" / "installation.md").read_text()


def test_the_definition_is_what_the_command_prints() -> None:
    assert (CHART / "files" / "crd.yaml").read_text() == crd_yaml()


@MANIFESTS
def test_who_deletes_the_operator_keeps_the_definition_and_with_it_all_miniclusters(manifest: Path) -> None:
    assert of_kind(objects(manifest.read_text()), "CustomResourceDefinition") == []
    kept = the(objects(KEPT.read_text()), "CustomResourceDefinition")
    kept["metadata"].pop("labels")
    assert kept == crd()


@MANIFESTS
def test_who_deletes_the_operator_keeps_its_keys_and_what_users_may_do(manifest: Path) -> None:
    """The keys are in its namespace; of users' roles only that goes which is about the adapter's metrics."""
    deleted, kept = objects(manifest.read_text()), objects(KEPT.read_text())
    assert of_kind(deleted, "Namespace") == []
    assert the(kept, "Namespace")["metadata"]["name"] == NAMESPACE
    assert [name for name in user_roles(deleted) if "metrics" not in name] == []
    assert user_roles(kept) == [f"{RELEASE}-minicluster-view", f"{RELEASE}-minicluster-edit"]


def user_roles(found: list[Object]) -> list[str]:
    """Name the roles that are added to Kubernetes' own."""
    return [
        role["metadata"]["name"]
        for role in of_kind(found, "ClusterRole")
        if "aggregate-to" in str(role["metadata"]["labels"])
    ]


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_files_of_the_chart_are_up_to_date(path: Path) -> None:
    """`python -m deploy.render` writes them anew."""
    assert path.read_text() == files()[path]


def test_the_role_view_is_given_the_metrics_that_are_served() -> None:
    names = yaml.safe_load((CHART / "files" / "metrics.yaml").read_text())
    assert names == [metric.name for metric in METRICS]


@MANIFESTS
def test_the_image_is_tagged_with_the_version_of_the_project(manifest: Path) -> None:
    image = template(manifest)["spec"]["containers"][0]["image"]
    assert image == f"ghcr.io/flux-framework/minicluster-operator:{project()['version']}"


@MANIFESTS
def test_the_pods_have_the_label_that_network_policies_admit(manifest: Path) -> None:
    assert template(manifest)["metadata"]["labels"][LABEL_NAME] == OPERATOR_APPLICATION


@MANIFESTS
def test_both_probes_ask_the_one_port(manifest: Path) -> None:
    container = template(manifest)["spec"]["containers"][0]
    asked = {(probe["path"], probe["port"]) for probe in probes(container)}
    assert asked == {("/healthz", "health"), ("/readyz", "health")}


@MANIFESTS
def test_the_operator_understands_what_it_is_started_with(manifest: Path) -> None:
    arguments = template(manifest)["spec"]["containers"][0]["args"]
    found = get_command(app).make_context("operator", list(arguments)).params
    assert (found["lease"], found["listen"]) == (f"{NAMESPACE}/minicluster-operator", ":8080")


def test_the_adapter_understands_what_it_is_started_with() -> None:
    pod = the(objects(INSTALL.read_text()), "Deployment", ADAPTER)["spec"]["template"]
    container = pod["spec"]["containers"][0]
    assert container["command"] == ["minicluster", "metrics-adapter"]
    found = get_command(adapter).make_context("metrics-adapter", list(container["args"])).params
    assert (found["service"], found["owner"]) == (SERVICE, ADAPTER)
    assert pod["metadata"]["labels"][LABEL_NAME] == METRICS_APPLICATION


def test_the_chart_takes_over_from_a_version_that_was_released() -> None:
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text())["annotations"][
        "flux-framework.org/upgrades-from"
    ]
    assert f"## [{oldest}] - " in (CHART.parents[2] / "CHANGELOG.md").read_text()


def template(manifest: Path) -> Object:
    """Return the operator's pod template."""
    found: Object = the(objects(manifest.read_text()), "Deployment", RELEASE)["spec"]["template"]
    return found


@MANIFESTS
def test_a_start_may_take_minutes(manifest: Path) -> None:
    """Of the operator and of the adapter: where others take the node's cores, one was not enough."""
    deployments = of_kind(objects(manifest.read_text()), "Deployment")
    found = [each["spec"]["template"]["spec"]["containers"][0]["startupProbe"] for each in deployments]
    assert {each["periodSeconds"] * each["failureThreshold"] for each in found} == {300}


def probes(container: Object) -> list[Object]:
    """Return what the probes ask."""
    return [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
