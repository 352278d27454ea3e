"""What the operator and the users of MiniClusters are granted."""

from pathlib import Path

import pytest

from metrics_api.adapter.authority_store import SECRET as SERVING_SECRET
from metrics_api.adapter.registration import NAMES
from metrics_api.names import METRICS
from minicluster.lead_client.key_store import SECRET
from minicluster.lead_client.purpose_keys import PUBLISHED, secret_name
from minicluster.plan.objects.names import FLUX_FILES
from tests.deploy.files import CHART, INSTALL, NAMESPACED, ROOT, Object, grants, objects, of_kind, the

MANIFESTS = pytest.mark.parametrize("manifest", [INSTALL, NAMESPACED], ids=lambda path: path.stem)
OPERATOR = "minicluster-operator"
ROLES = ("ClusterRole", "Role")
APPLIED = {"get", "list", "watch", "create", "patch"}
METRICS_SECRET, *_ = PUBLISHED_SECRETS = [secret_name(each) for each in PUBLISHED]
OWN_SECRETS = ([SECRET], [METRICS_SECRET], PUBLISHED_SECRETS, [SERVING_SECRET])
ADAPTER = "minicluster-operator-adapter"
EXPECTED = {
    "flux-framework.org/miniclusters": {"get", "list", "watch", "patch", "delete"},  # patch: the finalizer
    "flux-framework.org/miniclusters/status": {"patch"},
    "flux-framework.org/miniclusters/finalizers": {"update"},
    "batch/jobs": APPLIED,
    "/configmaps": APPLIED,
    "/services": APPLIED,
    "/pods": APPLIED | {"delete"},
    "/secrets": {"create", "delete"},  # delete: tokens are replaced so, and never read
    "networking.k8s.io/networkpolicies": APPLIED,
    "policy/poddisruptionbudgets": APPLIED,
    "autoscaling/horizontalpodautoscalers": APPLIED | {"delete"},
    "/events": {"list", "create"},
    "events.k8s.io/events": {"create"},  # of an operator of 0.1.0 that is being replaced
}


@pytest.mark.parametrize(("manifest", "kind"), [(INSTALL, "ClusterRole"), (NAMESPACED, "Role")])
def test_the_operator_is_granted_this_and_no_more(manifest: Path, kind: str) -> None:
    role = the(objects(manifest.read_text()), kind, OPERATOR)
    granted = list(grants([role]))
    assert {resource: verbs for resource, verbs, names in granted if names is None} == EXPECTED
    assert [each for each in granted if each[2] is not None] == [("/configmaps", {"delete"}, [FLUX_FILES])]


@MANIFESTS
def test_of_leases_only_its_own_can_be_read_and_written(manifest: Path) -> None:
    role = the(objects(manifest.read_text()), "Role", f"{OPERATOR}-lease")
    assert list(grants([role])) == [
        ("coordination.k8s.io/leases", {"create"}, None),
        ("coordination.k8s.io/leases", {"get", "update"}, [OPERATOR]),
    ]


@MANIFESTS
def test_of_secrets_only_its_own_keys_can_be_read(manifest: Path) -> None:
    role = the(objects(manifest.read_text()), "Role", f"{OPERATOR}-door")
    assert list(grants([role])) == [
        ("/secrets", {"create"}, None),
        ("/secrets", {"get"}, [SECRET]),
        ("/secrets", {"patch"}, PUBLISHED_SECRETS),
    ]


def test_the_adapter_follows_and_asks_and_writes_only_its_api_services() -> None:
    granted = list(grants([the(objects(INSTALL.read_text()), "ClusterRole", ADAPTER)]))
    writing = {"create", "patch", "update", "delete"}
    assert {resource for resource, verbs, _ in granted if verbs & writing} == {
        "authorization.k8s.io/subjectaccessreviews",
        "apiregistration.k8s.io/apiservices",
    }
    [named] = [names for resource, verbs, names in granted if "patch" in verbs]
    assert set(named or ()) == set(NAMES)


TOKENS = [
    "**Its token is as good as cluster-admin in the namespaces that it watches**, by default in all",
    "**The metrics adapter may create any APIService that is absent**",
    "`watchNamespaces` of the chart narrows it",
    "`--set policy.restrict=true` adds a ValidatingAdmissionPolicy",
    "capabilities beyond those that Pod Security `baseline` lets be added",
]


@pytest.mark.parametrize("words", TOKENS)
def test_the_page_names_what_tokens_allow(words: str) -> None:
    """It stands with the other sentences about security."""
    section = (
        (ROOT / "docs" / "operator.md").read_text().partition("\n## Security\n")[2].partition("\n## ")[0]
    )
    assert words in " ".join(section.split())


def test_the_notes_after_an_installation_name_it_too() -> None:
    notes = " ".join((CHART / "templates" / "NOTES.txt").read_text().split())
    assert "The operator's token is as good as cluster-admin in" in notes
    assert "Limit them by Pod Security Admission" in notes


def test_the_adapter_reports_api_services_by_events_in_default() -> None:
    role = the(objects(INSTALL.read_text()), "Role", f"{ADAPTER}-events")
    assert (role["metadata"]["namespace"], list(grants([role]))) == (
        "default",
        [("/events", {"create"}, None)],
    )


AGAIN = "deploy/ does not have the names of metrics_api/names.py: run `make manifests`"


def test_whoever_may_view_a_namespace_sees_the_metrics_that_are_served_and_no_others() -> None:
    """In these APIs there may be metrics of other servers as well."""
    role = the(objects(INSTALL.read_text()), "ClusterRole", f"{OPERATOR}-minicluster-metrics-view")
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    served = {metric.name for metric in METRICS}
    granted = list(grants([role]))
    custom = {each.removeprefix("custom.metrics.k8s.io/") for each, verbs, _ in granted if verbs == {"get"}}
    kinds = ("miniclusters.flux-framework.org", "services", "pods")
    assert custom == {"metrics", *(f"{kind}/{name}" for kind in kinds for name in served)}, AGAIN
    external = {each for each, verbs, _ in granted if verbs == {"list"}}
    assert external == {f"external.metrics.k8s.io/{name}" for name in served}, AGAIN
    [named] = [names for each, _, names in granted if each.endswith("/metrics")]
    assert set(named or ()) == served, AGAIN


def test_the_adapter_reads_the_keys_for_metrics_and_never_the_operators() -> None:
    granted = list(grants([the(objects(INSTALL.read_text()), "Role", ADAPTER)]))
    assert granted == [
        ("/secrets", {"get"}, [METRICS_SECRET]),
        ("/secrets", {"create"}, None),
        ("/secrets", {"get", "update"}, [SERVING_SECRET]),
    ]


@MANIFESTS
def test_no_role_grants_anything_by_a_wildcard(manifest: Path) -> None:
    granted = list(grants(roles(manifest)))
    assert [resource for resource, verbs, _ in granted if "*" in resource or "*" in verbs] == []


@MANIFESTS
def test_no_role_reads_other_secrets_or_runs_commands_in_pods(manifest: Path) -> None:
    granted = [
        (resource, verb)
        for resource, verbs, names in grants(roles(manifest))
        for verb in verbs
        if names not in OWN_SECRETS
    ]
    assert {pair for pair in granted if pair[0] == "/secrets"} == {
        ("/secrets", "create"),
        ("/secrets", "delete"),
    }
    assert {resource for resource, _ in granted if resource.startswith("/pods")} == {"/pods"}


def test_the_operator_of_one_namespace_has_nothing_cluster_wide() -> None:
    assert of_kind(objects(NAMESPACED.read_text()), "ClusterRoleBinding") == []


def roles(manifest: Path) -> list[Object]:
    """List all roles."""
    return [role for role in objects(manifest.read_text()) if role["kind"] in ROLES]
