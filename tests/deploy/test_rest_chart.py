"""The RESTful API's chart as texts: what it has of the code is the same there."""

import re

import pytest

from minicluster.lead_client.purpose_keys import JOBS, secret_name
from minicluster.plan.constants import APPLICATION, LEAD_API_PORT, REST_APPLICATION, Component
from restful.identity.settings import IdentitySettings
from tests.deploy.files import REST_CHART

TEMPLATES = {path.name: path.read_text() for path in sorted((REST_CHART / "templates").iterdir())}


def test_the_pods_have_the_label_that_miniclusters_admit() -> None:
    assert f"app.kubernetes.io/name: {REST_APPLICATION}\n" in TEMPLATES["_names.tpl"]


def test_the_policy_lets_it_out_to_leads() -> None:
    for text in (
        f"port: {LEAD_API_PORT}\n",
        f"app.kubernetes.io/name: {APPLICATION}\n",
        f"app.kubernetes.io/component: {Component.BROKER}\n",
    ):
        assert text in TEMPLATES["networkpolicy.yaml"]


@pytest.mark.parametrize("template", ["rbac.yaml", "deployment.yaml"])
def test_the_secret_is_the_one_that_the_operator_writes(template: str) -> None:
    assert set(re.findall(r"minicluster-jobs\b", TEMPLATES[template])) == {secret_name(JOBS)}


@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - {"NOTES.txt"}))
def test_no_template_leaves_the_login_out(name: str) -> None:
    assert "no-auth" not in TEMPLATES[name]


def test_the_readme_has_the_values_that_are_needed() -> None:
    readme = (REST_CHART / "README.md").read_text()
    needed = set(
        re.findall(r'fail \(?(?:printf )?"([\w.]+)(?: or ([\w.]+))? is needed', TEMPLATES["_checks.tpl"])
    )
    names = {name for found in needed for name in found if name}
    assert names == {"url", "masterKey.secretName", "tls.secretName", "behindProxy", "networkPolicy.clients"}
    assert [name for name in names if name not in readme] == []


def test_the_notes_have_the_lifetime_of_a_link() -> None:
    minutes = round(IdentitySettings().link_lifetime / 60)
    assert f"it is good once, for {minutes} minutes:\n" in TEMPLATES["NOTES.txt"]
