"""The metrics adapter behind a real API server: who may ask, what is answered, and that it is kept so."""

import http.client
import json
import ssl
from pathlib import Path

import pytest

from tests.devcluster import Api, ControlPlane, until
from tests.devcluster.certificates import authority
from tests.kubernetes import adapters, operators
from tests.kubernetes.adapters import API_SERVICES, APIS, EXTERNAL, V1, V2, Adapter
from tests.kubernetes.autoscalers import FORMS, HPAS, active, hpa
from tests.kubernetes.metrics.adapter.asked import CLUSTERS, known, refusal, value
from tests.kubernetes.operators import SYSTEM
from tests.metrics_api.adapter.played import Leads


class TestValues:
    @pytest.mark.parametrize("version", [V1, V2])
    def test_of_a_minicluster_and_its_service(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads, version: str
    ) -> None:
        adapters.cluster(api, leads, namespace).serve_numbers(flux_nodes_demanded=3)
        root = f"{version}/namespaces/{namespace}"
        known(api, f"{root}/{CLUSTERS}/mc/flux_nodes_demanded")
        assert value(api, f"{root}/{CLUSTERS}/mc/flux_nodes_demanded") == "3"
        assert value(api, f"{root}/services/mc/flux_nodes_demanded") == "3"
        assert value(api, f"{root}/metrics/flux_nodes_demanded") == "3"

    def test_two_miniclusters_of_one_name_are_distinguished(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads
    ) -> None:
        other = f"{namespace}-other"
        api.create("/api/v1/namespaces", {"metadata": {"name": other}})
        adapters.cluster(api, leads, namespace).serve_numbers(flux_nodes_demanded=1)
        adapters.cluster(api, leads, other).serve_numbers(flux_nodes_demanded=2)
        found = {}
        for where in (namespace, other):
            path = f"{V2}/namespaces/{where}/{CLUSTERS}/mc/flux_nodes_demanded"
            known(api, path)
            found[where] = value(api, path)
        assert found == {namespace: "1", other: "2"}
        api.delete(f"/api/v1/namespaces/{other}")

    def test_external_ones_by_their_labels(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads
    ) -> None:
        numbers = [("flux_queue_jobs_pending", {"queue": queue}, number) for queue, number in Q.items()]
        adapters.cluster(api, leads, namespace).serve_samples(numbers)
        path = f"{EXTERNAL}/namespaces/{namespace}/flux_queue_jobs_pending"
        known(api, path)
        found = api.get(path, labelSelector="minicluster=mc,queue=batch")["items"]
        assert [(each["metricLabels"], each["value"]) for each in found] == [
            ({"minicluster": "mc", "queue": "batch"}, "30")
        ]


Q = {"batch": 30, "debug": 10}


class TestFaults:
    def test_a_lead_that_is_away_is_unavailable_and_then_answers_again(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads
    ) -> None:
        lead = adapters.cluster(api, leads, namespace).serve_numbers(flux_nodes_demanded=3)
        path = f"{V2}/namespaces/{namespace}/{CLUSTERS}/mc/flux_nodes_demanded"
        known(api, path)
        leads.close(lead)
        until(lambda: not api.exists(path), "the lead to be missed")
        code, message = refusal(api, path)
        assert (code, f"MiniCluster {namespace}/mc: the lead API at" in message) == (503, True)
        leads.open(lead)
        until(lambda: api.exists(path), "the lead to be heard again")
        assert value(api, path) == "3"

    @pytest.mark.parametrize("age", [5.1, 3600.0])
    def test_numbers_that_are_old_are_not_passed_on(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads, age: float
    ) -> None:
        lead = adapters.cluster(api, leads, namespace).serve_numbers(flux_nodes_demanded=3)
        path = f"{V2}/namespaces/{namespace}/{CLUSTERS}/mc/flux_nodes_demanded"
        known(api, path)
        lead.serve_samples([("flux_nodes_demanded", {}, 3)], age)
        until(lambda: not api.exists(path), "the numbers to be too old")
        code, message = refusal(api, path)
        assert (code, f"has numbers of {age:.0f} s ago only" in message) == (503, True)


class TestRights:
    def test_a_user_without_rights_is_refused_by_the_api_server(
        self, metrics_plane: ControlPlane, adapter: Adapter, namespace: str
    ) -> None:
        nobody = Api(metrics_plane.user("nobody"))
        path = f"{V2}/namespaces/{namespace}/{CLUSTERS}/mc/flux_nodes_demanded"
        assert refusal(nobody, path)[0] == 403
        nobody.hang_up()

    def test_a_user_may_see_one_namespace_and_not_another(
        self, metrics_plane: ControlPlane, adapter: Adapter, api: Api, namespace: str, leads: Leads
    ) -> None:
        adapters.cluster(api, leads, namespace).serve_numbers(flux_nodes_demanded=3)
        path = f"{V2}/namespaces/{namespace}/{CLUSTERS}/mc/flux_nodes_demanded"
        known(api, path)
        rights = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
        rule = {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["*"], "verbs": ["get"]}
        api.create(f"{rights}/roles", {"metadata": {"name": "metrics"}, "rules": [rule]})
        subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
        reference = {"kind": "Role", "name": "metrics", "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": "metrics"}, "roleRef": reference, "subjects": [subject]}
        api.create(f"{rights}/rolebindings", binding)
        jane = Api(metrics_plane.user("jane"))
        until(lambda: jane.exists(path), "the right to be known")
        assert value(jane, path) == "3"
        assert refusal(jane, path.replace(namespace, "default"))[0] == 403
        jane.hang_up()

    def test_who_forges_the_front_proxys_headers_is_refused(self, adapter: Adapter) -> None:
        assert direct(adapter, {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}) == (
            401,
            "only the API server's front proxy is answered here: ask through the API server",
        )

    def test_who_has_a_certificate_of_another_authority_gets_no_connection(
        self, metrics_plane: ControlPlane, adapter: Adapter, tmp_path: Path
    ) -> None:
        """Also a person's own, that the API server would take."""
        pair = authority(tmp_path, "other").issue("front-proxy-client", "front-proxy-client")
        for certificate, key in (
            (pair.certificate, pair.key),
            (metrics_plane.directory / "pki/admin.crt", metrics_plane.directory / "pki/admin.key"),
        ):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                direct(adapter, {"X-Remote-User": "admin"}, certificate, key)

    def test_the_front_proxy_speaks_for_somebody_who_is_asked_about(
        self, metrics_plane: ControlPlane, adapter: Adapter
    ) -> None:
        proxy = metrics_plane.apiserver.keys.front_proxy
        code, message = direct(adapter, {"X-Remote-User": "jim"}, proxy.certificate, proxy.key)
        assert code == 403
        assert message == (
            "jim may not get miniclusters.flux-framework.org/flux_jobs 'mc' of custom.metrics.k8s.io"
            " in namespace default"
        )


def direct(
    adapter: Adapter, headers: dict[str, str], certificate: Path | None = None, key: Path | None = None
) -> tuple[int, str]:
    """Ask an adapter past the API server; return the code and the message."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection("127.0.0.1", adapter.port, timeout=30, context=context)
    try:
        connection.request("GET", f"{V2}/namespaces/default/{CLUSTERS}/mc/flux_jobs", headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())["message"]
    finally:
        connection.close()


class TestAutoscaler:
    @pytest.mark.timeout(300)
    @pytest.mark.parametrize("kind", FORMS)
    def test_it_follows_the_nodes_demanded(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads, kind: str
    ) -> None:
        lead = adapters.cluster(api, leads, namespace, size=2, minSize=1, maxSize=8)
        lead.serve_numbers(flux_nodes_demanded=2)
        api.create(HPAS.format(namespace), hpa(kind))
        for demanded in (6, 3, 8, 1):
            lead.serve_numbers(flux_nodes_demanded=demanded)
            resized(api, namespace, demanded)

    @pytest.mark.timeout(300)
    def test_it_holds_the_size_while_the_lead_is_away(
        self, adapter: Adapter, api: Api, namespace: str, leads: Leads
    ) -> None:
        lead = adapters.cluster(api, leads, namespace, size=2, minSize=1, maxSize=8)
        lead.serve_numbers(flux_nodes_demanded=5)
        api.create(HPAS.format(namespace), hpa("Object"))
        resized(api, namespace, 5)
        leads.close(lead)
        until(lambda: active(api, namespace) == "False", "the autoscaler to notice", operators.SECONDS)
        assert operators.read(api, namespace)["spec"]["size"] == 5
        leads.open(lead)
        lead.serve_numbers(flux_nodes_demanded=7)
        until(lambda: active(api, namespace) == "True", "the autoscaler to go on", operators.SECONDS)
        resized(api, namespace, 7)


def resized(api: Api, namespace: str, size: int) -> None:
    """Wait until the autoscaler asks for a size, and have the MiniCluster be of it."""

    def asked() -> bool:
        return bool(operators.read(api, namespace)["spec"]["size"] == size)

    try:
        until(asked, f"size {size}", operators.SECONDS)
    except TimeoutError as error:
        status = api.get(f"{HPAS.format(namespace)}/mc")["status"]
        raise AssertionError(f"{error}: {json.dumps(status, indent=1)}") from error
    api.merge(operators.path(namespace, "mc", "status"), {"status": {"size": size}})
    pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
    present = {int(each["metadata"]["name"].rpartition("-")[2]) for each in pods}
    template = next(each for each in pods if each["metadata"]["name"] == "mc-0")
    for index in set(range(size)) - present:
        labels = {**template["metadata"]["labels"], "batch.kubernetes.io/job-completion-index": str(index)}
        body = {"metadata": {"name": f"mc-{index}", "labels": labels}, "spec": adapters.SPEC}
        api.create(f"/api/v1/namespaces/{namespace}/pods", body)
        adapters.run_pod_at(api, namespace, f"mc-{index}", "127.7.255.1")
    for index in present - set(range(size)):
        api.delete(f"/api/v1/namespaces/{namespace}/pods/mc-{index}", gracePeriodSeconds="0")


class TestRegistration:
    def test_what_somebody_changes_is_put_right(self, adapter: Adapter, api: Api) -> None:
        path = f"{API_SERVICES}/{APIS[0]}"
        before = api.get(path)["spec"]
        api.merge(path, {"spec": {"caBundle": None, "insecureSkipTLSVerify": True}})
        until(lambda: api.get(path)["spec"] == before, "the authorities to be there again")

    def test_one_that_was_deleted_is_made_again(self, adapter: Adapter, api: Api) -> None:
        api.delete(f"{API_SERVICES}/{APIS[1]}")
        adapters.wait_available(api, APIS[1])

    def test_they_belong_to_the_adapters_role_and_go_with_it(self, adapter: Adapter, api: Api) -> None:
        role = api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{adapters.NAME}")
        for name in APIS:
            [owner] = api.get(f"{API_SERVICES}/{name}")["metadata"]["ownerReferences"]
            assert owner["uid"] == role["metadata"]["uid"]

    def test_one_of_somebody_else_is_left_alone_and_reported(self, adapter: Adapter, api: Api) -> None:
        path = f"{API_SERVICES}/{APIS[2]}"
        api.merge(path, {"spec": {"service": {"namespace": "keda", "name": "keda-metrics"}}})
        line = f"APIService {APIS[2]} belongs to Service keda/keda-metrics and is left alone"
        until(lambda: line in adapter.text(), "it to be reported")
        api.merge(path, {"metadata": {"labels": {"touched": "yes"}}})
        assert api.get(path)["spec"]["service"]["name"] == "keda-metrics"
        api.delete(path)
        adapters.wait_available(api, APIS[2])


class TestRestart:
    def test_another_adapter_goes_on_with_the_same_authority(
        self, metrics_plane: ControlPlane, adapter: Adapter, leads: Leads, tmp_path: Path
    ) -> None:
        path = f"/api/v1/namespaces/{SYSTEM}/secrets/minicluster-metrics-serving"
        before = metrics_plane.api.get(path)["data"]
        account = adapters.account(metrics_plane)
        second = adapters.launch(account, tmp_path / "log", leads.port, adapter.port)
        assert second.stop() == 0
        assert metrics_plane.api.get(path)["data"] == before
        assert "defect" not in second.text()
