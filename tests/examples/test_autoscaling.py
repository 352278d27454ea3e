"""What examples/autoscaling has others ask for is what is served, under the names under which it is served.

The autoscalers are tried on a real API server, in tests/kubernetes/operator/test_autoscaling.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from metrics_api import names
from metrics_api.answers.queries import CUSTOM
from metrics_api.lead.routes import QueueRoutes
from metrics_api.lead.sampled import Sampled
from metrics_api.numbers.records import Sample
from minicluster import document as spec
from minicluster.lead_server import aggregation, files
from minicluster.plan import lead_hosts, render
from minicluster.plan.constants import LABEL_SELECTOR, LEAD_API_PORT, LEAD_CERTIFICATE, METRICS_TOKEN
from minicluster.plan.objects.labels import lead_pod
from minicluster.plan.records import Site

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "autoscaling"
KEDA = {each["kind"]: each for each in yaml.safe_load_all((FOLDER / "keda.yaml").read_text())}
CUSTOM_METRICS = (FOLDER / "custom-metrics.yaml").read_text()
PROMETHEUS = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
RULES = [
    rule
    for group in yaml.safe_load((FOLDER / "prometheus-rules.yml").read_text())["groups"]
    for rule in group["rules"]
]
SERVED = set(QueueRoutes.audiences)


@pytest.fixture(scope="module")
def scaling() -> spec.MiniCluster:
    """The MiniCluster that they are about, in the namespace that they are about."""
    (document,) = yaml.safe_load_all((EXAMPLES / "scaling" / "minicluster.yaml").read_text())
    document["metadata"]["namespace"] = "default"
    return spec.validate(document)


def located(path: str, answer: Any) -> Any:
    """Return what a path of GJSON finds: keys, and the first of a list that has a value."""
    array, name, value, key = re.fullmatch(r'(\w+)\.#\((\w+)=="(\w+)"\)\.(\w+)', path).groups()  # type: ignore[union-attr]
    return next(each for each in answer[array] if each[name] == value)[key]


class TestKeda:
    def test_it_asks_the_lead_by_a_name_that_is_in_its_certificate(self, scaling: spec.MiniCluster) -> None:
        (trigger,) = KEDA["ScaledObject"]["spec"]["triggers"]
        url = urlsplit(trigger["metadata"]["url"])
        assert (url.scheme, url.port, url.path in SERVED) == ("https", LEAD_API_PORT, True)
        assert url.hostname in lead_hosts(scaling)

    def test_it_finds_the_nodes_demanded_in_the_answer(self) -> None:
        (trigger,) = KEDA["ScaledObject"]["spec"]["triggers"]
        numbers = [Sample("flux_jobs", 9.0, {"state": "run"}), Sample(names.NODES_DEMANDED, 3.0)]
        answer = yaml.safe_load(Sampled(0.0, 0.0, numbers).document(0.0))
        assert located(trigger["metadata"]["valueLocation"], answer) == 3.0
        assert (trigger["metricType"], trigger["metadata"]["targetValue"]) == ("AverageValue", "1")

    def test_its_credentials_are_where_the_miniclusters_and_its_own_are(self) -> None:
        (trigger,) = KEDA["ScaledObject"]["spec"]["triggers"]
        authentication = KEDA["TriggerAuthentication"]
        assert trigger["authenticationRef"]["name"] == authentication["metadata"]["name"]
        given = authentication["spec"]["secretTargetRef"]
        found = {each["parameter"]: (each["name"], each["key"]) for each in given}
        keys = "scaling-curve-0123456789ab"
        # KEDA trusts an authority that it is given only beside `tls`: with a certificate of its own to show.
        own = "scaling-keda"
        assert (trigger["metadata"]["authModes"], found) == (
            "tls,bearer",
            {
                "token": (keys, METRICS_TOKEN),
                "ca": (keys, LEAD_CERTIFICATE),
                "cert": (own, "tls.crt"),  # as `kubectl create secret tls` names them
                "key": (own, "tls.key"),
            },
        )
        assert f"kubectl create secret tls {own} " in (FOLDER / "keda.yaml").read_text()

    def test_it_scales_what_is_there(self, scaling: spec.MiniCluster) -> None:
        about = KEDA["ScaledObject"]["spec"]
        target = about["scaleTargetRef"]
        assert (target["apiVersion"], target["kind"], target["name"]) == (
            spec.API_VERSION,
            spec.KIND,
            scaling.metadata.name,
        )
        assert (about["minReplicaCount"], about["maxReplicaCount"]) == (1, scaling.spec.max_size)

    def test_it_is_let_in(self, scaling: spec.MiniCluster) -> None:
        """To the port of the door, of the brokers' pods."""
        policy = KEDA["NetworkPolicy"]["spec"]
        (job,) = (each for each in render(scaling, Site()) if each["kind"] == "Job")
        labels = job["spec"]["template"]["metadata"]["labels"]
        assert policy["podSelector"]["matchLabels"] == {LABEL_SELECTOR: labels[LABEL_SELECTOR]}
        assert [each["port"] for rule in policy["ingress"] for each in rule["ports"]] == [LEAD_API_PORT]


class TestCustomMetrics:
    """The lead as a server of the API server's."""

    service, *apis = yaml.safe_load_all(CUSTOM_METRICS)

    def test_its_service_finds_the_leads_pod_alone(self) -> None:
        (document,) = yaml.safe_load_all((FOLDER / "minicluster.yaml").read_text())
        selector, [port] = self.service["spec"]["selector"], self.service["spec"]["ports"]
        assert selector == lead_pod(spec.validate(document))
        assert port["targetPort"] == LEAD_API_PORT

    def test_it_is_registered_for_all_that_it_serves(self) -> None:
        found = {(each["spec"]["group"], each["spec"]["version"]) for each in self.apis}
        assert found == {(api.group, api.version) for api in CUSTOM}
        reference = {"namespace": "default", "name": self.service["metadata"]["name"], "port": 443}
        assert [each["spec"]["service"] for each in self.apis] == [reference] * len(CUSTOM)

    def test_the_secret_has_what_the_lead_reads(self) -> None:
        """By the name of the Service, for which the certificate is, too."""
        keys = set(re.findall(r"--from-(?:file|literal)=([\w.-]+)", CUSTOM_METRICS))
        assert keys == {
            files.READERS_CERTIFICATE,
            files.READERS_KEY,
            "requestheader-client-ca-file",
            "requestheader-allowed-names",
            "apis-host",
        }
        assert keys <= {files.READERS_CERTIFICATE, files.READERS_KEY, *aggregation.FILES}
        host = f"{self.service['metadata']['name']}.default.svc"
        assert (f"apis-host={host}" in CUSTOM_METRICS, f"DNS:{host}" in CUSTOM_METRICS) == (True, True)


class TestPrometheus:
    def test_it_collects_from_the_lead(self, scaling: spec.MiniCluster) -> None:
        (job,) = PROMETHEUS["scrape_configs"]
        assert (job["scheme"], job["metrics_path"] in SERVED) == ("https", True)
        (target,) = (each for part in job["static_configs"] for each in part["targets"])
        host, _, port = target.rpartition(":")
        assert (host in lead_hosts(scaling), int(port)) == (True, LEAD_API_PORT)
        assert Path(job["authorization"]["credentials_file"]).name == METRICS_TOKEN
        assert Path(job["tls_config"]["ca_file"]).name == LEAD_CERTIFICATE

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
    def test_its_rules_are_about_metrics_that_there_are(self, rule: dict[str, Any]) -> None:
        words = set(re.findall(r"\bflux_\w+", rule["expr"]))
        assert words <= set(names.BY_NAME)
        assert words or rule["expr"].startswith("up{")

    def test_alerts_name_the_minicluster_by_labels_that_are_set(self) -> None:
        (job,) = PROMETHEUS["scrape_configs"]
        (static,) = job["static_configs"]
        texts = [text for rule in RULES for text in rule.get("annotations", {}).values()]
        used = {label for text in texts for label in re.findall(r"\$labels\.(\w+)", text)}
        assert used == set(static["labels"])
        assert PROMETHEUS["rule_files"] == ["prometheus-rules.yml"]


@pytest.mark.parametrize("file", ["hpa-object.yaml", "hpa-external.yaml", "hpa-cpu.yaml"])
def test_autoscalers_are_about_the_same_minicluster(file: str, scaling: spec.MiniCluster) -> None:
    """Within its bounds, by metrics that there are."""
    about = yaml.safe_load((FOLDER / file).read_text())["spec"]
    assert about["scaleTargetRef"]["name"] == scaling.metadata.name
    assert (about["minReplicas"], about["maxReplicas"]) == (scaling.spec.min_size, scaling.spec.max_size)
    (metric,) = about["metrics"]
    wanted = metric[metric["type"].lower()]
    assert wanted.get("name") == "cpu" or wanted["metric"]["name"] == names.NODES_DEMANDED
