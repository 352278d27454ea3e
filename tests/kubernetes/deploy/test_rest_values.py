"""What the RESTful API's chart refuses, with which words, and what it prints for who installs it."""

import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import REST_CHART, of_kind
from tests.kubernetes.deploy.rest_chart import (
    NAME,
    NEEDED,
    POSTGRESQL,
    PROXY,
    ROUTE,
    options,
    refusal,
    rendered,
)

FORGED = (
    "networkPolicy.clients is needed with behindProxy: any other pod with one of these addresses could state",
    "whose request it sends (X-Forwarded-For). Name the proxies' pods, such as",
    "[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress-nginx}}}];",
    "or set networkPolicy.enabled=false where a policy of your own admits them alone",
)
REFUSED = {
    "url": (
        NEEDED[1:],
        ("url is needed: where users reach the service, such as --set url=https://mc.example.org",),
    ),
    "master key": (
        (NEEDED[0], NEEDED[2]),
        (
            "masterKey.secretName is needed: a Secret with 32 random bytes.",
            "`head -c 32 /dev/urandom > master.key`,",
            "`kubectl create secret generic minicluster-rest-master-key --namespace site",
            "--from-file=master.key`, then --set masterKey.secretName=minicluster-rest-master-key",
        ),
    ),
    "plain": (
        NEEDED[:2],
        (
            "tls.secretName or behindProxy is needed, or passwords and tokens would go over the network",
            "unencrypted: a Secret of type kubernetes.io/tls, or the addresses of the proxies that speak",
            "TLS with users",
        ),
    ),
    "replicas": (
        (*NEEDED, "replicas=2"),
        (
            "replicas: 2 need PostgreSQL (database.postgresql.secretName): SQLite's file is one process's",
            "alone",
        ),
    ),
    "ingress": (
        (*NEEDED, "ingress.enabled=true"),
        (
            "ingress.enabled needs behindProxy, the addresses of the controller's pods: without it all users",
            "have the controller's address, and share the limits of one",
        ),
    ),
    "route with tls": (
        (*NEEDED, *ROUTE, "behindProxy={10.0.0.7}"),
        (
            "httpRoute.enabled needs behindProxy, the addresses of the Gateway's pods, and no",
            "tls.secretName: a Gateway speaks plain HTTP with the service",
        ),
    ),
    "route": (
        (*PROXY, ROUTE[0]),
        (
            "httpRoute.enabled needs httpRoute.parentRefs: the Gateway,",
            "such as [{name: public, namespace: gateways}]",
        ),
    ),
    "clients": (PROXY[:3], FORGED),
    "clients with tls": ((*NEEDED, PROXY[2]), FORGED),
    "monitor": (
        (*NEEDED, "metrics.serviceMonitor.enabled=true", "metrics.service=false"),
        (
            "metrics.serviceMonitor.enabled needs metrics.service: a ServiceMonitor finds the pods through a",
            "Service",
        ),
    ),
}
"""Values, and the words of the refusal."""


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_missing_or_does_not_fit_is_refused_with_words(
    helm: Path, values: tuple[str, ...], message: tuple[str, ...]
) -> None:
    assert " ".join(message) in refusal(helm, *values)


def test_a_policy_is_not_demanded_where_none_is_wanted(helm: Path) -> None:
    assert of_kind(rendered(helm, "networkPolicy.enabled=false", needed=PROXY[:3]), "NetworkPolicy") == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auth=false", "additional properties 'auth' not allowed"),
        ("auth=false", "value must be one of 'global', 'url', 'hostNames', 'masterKey', "),
        ("log.levle=info", "at '/log': additional properties 'levle' not allowed"),
        ("url=http://mc.example.org", "at '/url': 'http://mc.example.org' does not match pattern"),
        ("url=https://mc.example.org/mc", "at '/url': 'https://mc.example.org/mc' does not match pattern"),
        ("hostNames={https://a}", "at '/hostNames/0': 'https://a' does not match pattern"),
        ("behindProxy={nginx}", "at '/behindProxy/0': 'nginx' does not match pattern"),
        ("behindProxy=10.0.0.7", "at '/behindProxy': got string, want array"),
        ("masterKey.key=a/b", "at '/masterKey/key': 'a/b' does not match pattern"),
        ("replicas=two", "at '/replicas': got string, want integer"),
        ("tenancy=accounts", "at '/tenancy': value must be one of 'shared', 'own'"),
        ("oidc.issuer=https://login.example", "at '/oidc/clientId': minLength: got 0, want 1"),
        ("oidc.issuer=https://login.example", "at '/oidc/secretName': minLength: got 0, want 1"),
        ("oidc.issuer=http://login.example", "at '/oidc/issuer': 'http://login.example' does not match"),
        ("database.url=postgresql://x", "at '/database': additional properties 'url' not allowed"),
        ("database.postgresql.port=0", "at '/database/postgresql/port': minimum: got 0, want 1"),
        ("database.sqlite.size=1GB", "at '/database/sqlite/size': '1GB' does not match pattern"),
        ("service.type=External", "at '/service/type': value must be one of 'ClusterIP', 'NodePort'"),
        ("service.externalTrafficPolicy=Local", "at '/service/externalTrafficPolicy': value must be ''"),
        ("httpRoute.requestTimeout=never", "at '/httpRoute/requestTimeout': 'never' does not match pattern"),
        ("networkPolicy.apiServerPorts={0}", "at '/networkPolicy/apiServerPorts/0': minimum: got 0, want 1"),
        ("networkPolicy.clients[0].cidr=10.0.0.0/8", "additional properties 'cidr' not allowed"),
        ("serviceAccount.create=false", "at '/serviceAccount/name': minLength: got 0, want 1"),
        ("resources.limits.memory=512MB", "at '/resources/limits/memory': '512MB' does not match pattern"),
        ("watchNamespaces={Team_A}", "at '/watchNamespaces/0': 'Team_A' does not match pattern"),
        ("log.level=loud", "at '/log/level': value must be one of 'debug', 'info', 'warning', 'error'"),
    ],
)
def test_a_wrong_value_is_refused_by_its_path(helm: Path, value: str, message: str) -> None:
    assert message in refusal(helm, *NEEDED, value)


NOTES = {
    "all": ((), "The RESTful API serves the MiniClusters in all namespaces at https://mc.example.org:8443."),
    "some": (("watchNamespaces={a,b}",), "The RESTful API serves the MiniClusters in a, b at https://"),
    "admin": ((), f"kubectl exec -n site deploy/{NAME} -- minicluster rest-api admin-link"),
    "login": ((), "`minicluster login --server https://mc.example.org:8443`"),
    "nobody": ((), f"kubectl port-forward -n site service/{NAME} 8443:443"),
    "account": ((), "All jobs of a MiniCluster run as one account"),
    "class": (
        (),
        "It needs a default StorageClass: without one the pod stays Pending, until database.sqlite.",
    ),
    "volume": (
        (),
        f"in the PersistentVolumeClaim {NAME}-database: save it, and the master key in Secret master.",
    ),
}


@pytest.mark.parametrize(("values", "message"), NOTES.values(), ids=NOTES)
def test_the_notes_name_what_was_installed(helm: Path, values: tuple[str, ...], message: str) -> None:
    assert message in notes(helm, *values)


def test_the_notes_leave_out_what_does_not_concern_the_release(helm: Path) -> None:
    text = notes(helm, POSTGRESQL, "tenancy=own", "service.type=LoadBalancer")
    assert [word for word in ("port-forward", "one account", "PersistentVolumeClaim") if word in text] == []


@pytest.mark.parametrize("value", ["storageClassName=fast", "existingClaim=mine"])
def test_the_notes_name_no_class_where_there_is_a_volume(helm: Path, value: str) -> None:
    assert "StorageClass" not in notes(helm, f"database.sqlite.{value}")


def notes(helm: Path, *values: str) -> str:
    """Return what helm prints for who installs."""
    argv = [str(helm), "install", NAME, str(REST_CHART), "--dry-run=client", *options(*NEEDED, *values)]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return text.partition("\nNOTES:\n")[2]
