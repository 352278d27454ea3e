"""The burst service's chart as texts: what it has of the code is the same there."""

import re
from pathlib import Path

import pytest

from burst.cli.service_pod import CONTAINER
from burst.joining.tunnel_pods import TUNNEL_APPLICATION
from burst.kubernetes import environment, measurements
from burst.kubernetes.settings import SERVICE
from burst.providers.kubernetes.tunnel.pod_objects import PROGRAM
from minicluster.lead_client.purpose_keys import BURST, secret_name
from minicluster.plan.constants import APPLICATION, BURST_APPLICATION, LABEL_NAME, LEAD_API_PORT, Component
from tests.deploy.files import BURST_CHART, ROOT

TEMPLATES = {path.name: path.read_text() for path in sorted((BURST_CHART / "templates").iterdir())}
KUBECONFIGS = "/etc/minicluster-burst/kubeconfigs/"


def test_the_pods_have_the_label_that_miniclusters_admit() -> None:
    assert f"app.kubernetes.io/name: {BURST_APPLICATION}\n" in TEMPLATES["_names.tpl"]


def test_the_pods_of_tunnels_have_the_label_that_leads_of_bursts_admit() -> None:
    assert f"app.kubernetes.io/name: {TUNNEL_APPLICATION}\n" in TEMPLATES["_pods.tpl"]
    assert f"== '{TUNNEL_APPLICATION}'" in TEMPLATES["tunnels.yaml"]
    assert f"each.command[2] == '{PROGRAM[-1]}'" in TEMPLATES["tunnels.yaml"]


def test_the_policy_lets_it_out_to_leads() -> None:
    for text in (
        f"app.kubernetes.io/name: {APPLICATION}\n",
        f"app.kubernetes.io/component: {Component.BROKER}\n",
    ):
        assert text in TEMPLATES["_peers.tpl"]
    assert f"port: {LEAD_API_PORT}\n" in TEMPLATES["networkpolicy.yaml"]


def test_the_secret_is_the_one_that_the_operator_writes() -> None:
    assert f"resourceNames: [{secret_name(BURST)}]" in TEMPLATES["rbac.yaml"]
    assert f"value: {{{{ .Release.Namespace }}}}/{secret_name(BURST)}\n" in TEMPLATES["deployment.yaml"]
    assert secret_name(BURST) == SERVICE


def test_the_variables_are_those_by_which_a_command_in_the_pod_finds_its_ledger() -> None:
    written = set(re.findall(rf"name: ({environment.PREFIX}\w+)", TEMPLATES["deployment.yaml"]))
    named = {value for value in vars(environment).values() if str(value).startswith(environment.PREFIX)}
    assert written == named - {environment.PREFIX}
    assert f"- name: {CONTAINER}\n" in TEMPLATES["deployment.yaml"]
    assert f"{LABEL_NAME}: {BURST_APPLICATION}\n" in TEMPLATES["_names.tpl"]


@pytest.mark.parametrize(
    "path",
    [BURST_CHART / "README.md", BURST_CHART / "values.yaml", ROOT / "docs" / "burst-service.md"],
    ids=lambda path: path.name,
)
def test_the_path_of_kubeconfigs_is_written_as_it_is(path: Path) -> None:
    assert f"mountPath: {KUBECONFIGS}{{{{ .name }}}}" in TEMPLATES["_pods.tpl"]
    assert set(re.findall(r"/etc/\S+/kubeconfigs/", path.read_text())) == {KUBECONFIGS}


def test_alerts_are_about_metrics_that_there_are() -> None:
    lines = [line for line in TEMPLATES["alerts.yaml"].splitlines() if "summary" not in line]
    used = set(re.findall(r"minicluster_burst\w*", "\n".join(lines)))
    assert used <= set(measurements.NAMES)
    wanted = {measurements.STUCK, measurements.BEYOND, measurements.BUDGET_USED, measurements.LISTING_AGE}
    assert wanted < used


def test_alerts_are_listed_where_money_is_explained() -> None:
    page = (ROOT / "docs" / "burst-money.md").read_text()
    for name in re.findall(r"- alert: (\w+)", TEMPLATES["alerts.yaml"]):
        assert f"| `{name}` |" in page


def test_the_readme_has_the_values_that_are_needed() -> None:
    readme = (BURST_CHART / "README.md").read_text()
    assert re.findall(r'fail "(\w+) is needed', TEMPLATES["_checks.tpl"]) == ["settings"]
    assert "`settings`" in readme
