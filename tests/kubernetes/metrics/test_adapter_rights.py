"""The metrics adapter uses the rights that it has, and its certificates are those that are trusted."""

import itertools
import socket
import ssl
from base64 import b64decode
from pathlib import Path

import pytest
import yaml

from metrics_api.adapter.registration import LEFT_ALONE
from minicluster.document import crd
from tests.devcluster import Api, ControlPlane, Options, cluster, until
from tests.kubernetes import adapters, operators
from tests.kubernetes.adapters import ACCOUNT, API_SERVICES, APIS, NAME, V2
from tests.kubernetes.operators import MANIFESTS, SYSTEM
from tests.metrics_api.adapter.played import playing
from tests.ports import free_port

Right = tuple[str, str, str]  # group, resource, verb
SECRET = f"/api/v1/namespaces/{SYSTEM}/secrets/minicluster-metrics-serving"
# Granted by Kubernetes' own Role extension-apiserver-authentication-reader.
FRONT_PROXY = {("", "configmaps", "list"), ("", "configmaps", "watch")}


def granted() -> set[Right]:
    """Return the adapter's rights in the shipped manifest."""
    items = [each for each in yaml.safe_load_all((MANIFESTS / "install.yaml").read_text()) if each]
    names = {NAME, f"{NAME}-events"}
    roles = [each for each in items if each["kind"].endswith("Role") and each["metadata"]["name"] in names]
    rules = [rule for role in roles for rule in role["rules"]]
    return {
        right
        for rule in rules
        for right in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"])
    }


def test_the_rights_that_are_granted_are_those_that_are_used(programs: None, tmp_path: Path) -> None:
    """From nothing, and again with an authority that is damaged; somebody asks who may not do everything."""
    with cluster(Options(crds=[crd()], audit=True)) as plane, playing(tmp_path) as leads:
        leads.add("nobody")
        port = free_port()
        with adapters.running(plane, leads, tmp_path / "first", port) as first:
            assert first.stop() == 0
        plane.api.merge(SECRET, {"data": {"ca.crt": ""}})
        with adapters.running(plane, leads, tmp_path / "second", port):
            assert plane.api.get(SECRET)["data"]["ca.crt"]
            adapters.cluster(plane.api, leads, "default").serve_numbers(flux_nodes_demanded=3)
            someone_asks(plane)
            plane.api.delete(f"{API_SERVICES}/{APIS[0]}")
            adapters.wait_available(plane.api, APIS[0])
            taken_by_another(plane)
        requests = [each for each in plane.requests() if each.user == ACCOUNT and each.resource]
        assert [each for each in requests if each.code == 403] == []
        used = {
            (each.group, f"{each.resource}/{each.subresource}".rstrip("/"), verb)
            for each in requests
            for verb in ((each.verb, "create") if (each.verb, each.code) == ("patch", 201) else (each.verb,))
        }
        assert used - FRONT_PROXY == granted()
        assert used >= FRONT_PROXY


def someone_asks(plane: ControlPlane) -> None:
    """Ask as somebody who may see the metrics of one namespace."""
    rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rule = {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["*"], "verbs": ["get"]}
    plane.api.create(f"{rights}/roles", {"metadata": {"name": "metrics"}, "rules": [rule]})
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "metrics", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "metrics"}, "roleRef": reference, "subjects": [subject]}
    plane.api.create(f"{rights}/rolebindings", binding)
    jane = Api(plane.user("jane"))
    path = f"{V2}/namespaces/default/services/mc/flux_nodes_demanded"
    until(lambda: jane.exists(path), "jane to be answered", operators.SECONDS)
    jane.hang_up()


def taken_by_another(plane: ControlPlane) -> None:
    """Have somebody else serve one of the APIs: `kubectl describe apiservice` tells of it."""
    service = {"namespace": "keda", "name": "keda-metrics"}
    plane.api.merge(f"{API_SERVICES}/{APIS[2]}", {"spec": {"service": service}})
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    until(
        lambda: (
            [
                each["note"].partition(" and ")[0]
                for each in plane.api.items(events)
                if (each["reason"], each["regarding"]["name"]) == (LEFT_ALONE, APIS[2])
            ]
            == [f"{APIS[2]} belongs to Service keda/keda-metrics"]
        ),
        "an Event to tell of it",
        operators.SECONDS,
    )


# With certificates that live for seconds.
QUICK = """
import datetime, sys
from minicluster.cli.main import run
from metrics_api.adapter import settings
seconds = lambda number: datetime.timedelta(seconds=number)
settings.AdapterSettings.__init__.__defaults__ = (8443, settings.Lives(seconds(45), seconds(20)))
sys.exit(run())
"""


@pytest.mark.timeout(400)
def test_certificates_and_their_authority_are_replaced_and_no_request_fails(
    programs: None, tmp_path: Path
) -> None:
    """The authority lives for 45 s, a certificate for 20 s; each is replaced when a third of that is left."""
    with cluster(Options(crds=[crd()])) as plane, playing(tmp_path) as leads:
        leads.add("nobody")
        port = free_port()
        with adapters.running(plane, leads, tmp_path / "log", port, ("-c", QUICK)) as adapter:
            adapters.cluster(plane.api, leads, "default").serve_numbers(flux_nodes_demanded=3)
            path = f"{V2}/namespaces/default/services/mc/flux_nodes_demanded"
            until(lambda: plane.api.exists(path), "the lead to be known", operators.SECONDS)
            before = bundle(plane.api)
            first = shown(adapter.port)
            rounds = itertools.count(1)

            def replaced() -> bool:
                """Ask for the number; once in a while look at the certificate, which is dearer."""
                assert plane.api.send("GET", path)[0] == 200
                return next(rounds) % 40 == 0 and changed(adapter.port, before)

            until(replaced, "another authority", operators.SECONDS, interval=0.01)
            assert shown(adapter.port) != first
            assert bundle(plane.api).endswith(before)


def changed(port: int, before: str) -> bool:
    """Whether a certificate is shown that the authorities of before did not sign."""
    context = ssl.create_default_context(cadata=before)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            context.wrap_socket(connection, server_hostname=f"{NAME}.{SYSTEM}.svc").close()
        except ssl.SSLCertVerificationError:
            return True
    return False


def shown(port: int) -> str:
    """Return the certificate that the adapter shows."""
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=30)


def bundle(api: Api) -> str:
    """Return the authorities that the API server trusts."""
    return b64decode(api.get(f"{API_SERVICES}/{APIS[0]}")["spec"]["caBundle"]).decode()
