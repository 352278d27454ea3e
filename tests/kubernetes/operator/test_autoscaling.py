"""`spec.autoscaling` on a real API server: the operator's HorizontalPodAutoscaler, and that it scales."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.document import crd, messages
from minicluster.operator.observation import ANNOTATION_DIGEST
from tests.devcluster import Api, ControlPlane, Options, cluster, until
from tests.kubernetes import adapters, autoscalers, operators
from tests.kubernetes.adapters import Adapter
from tests.kubernetes.autoscalers import HPAS
from tests.kubernetes.command_line import CommandLine, written
from tests.kubernetes.operators import Operator, create, message, read, settled
from tests.metrics_api.adapter.played import Lead, Leads, playing
from tests.ports import free_port

FOLLOWING = ("True", "Following")
AT_ONCE = {"stabilizationWindowSeconds": 0}


@pytest.fixture(scope="module")
def scaling_plane(programs: None) -> Iterator[ControlPlane]:
    """A control plane with nodes that kwok plays, whose autoscaler looks every second."""
    with cluster(Options(crds=[crd()], controller_manager=autoscalers.EVERY_SECOND)) as plane:
        plane.add_fake_nodes(6)
        yield plane


@pytest.fixture(scope="module")
def api(scaling_plane: ControlPlane) -> Api:
    return scaling_plane.api


@pytest.fixture(scope="module")
def operator(scaling_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    log = tmp_path_factory.mktemp("operator") / "log"
    with operators.running(operators.account(scaling_plane), log) as found:
        yield found


@pytest.fixture(scope="module")
def leads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leads]:
    with playing(tmp_path_factory.mktemp("leads")) as found:
        yield found


@pytest.fixture(scope="module")
def adapter(
    scaling_plane: ControlPlane, leads: Leads, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Adapter]:
    leads.add("nobody")  # so that there is a port
    log = tmp_path_factory.mktemp("adapter") / "log"
    with adapters.running(scaling_plane, leads, log, free_port()) as running:
        yield running


def scaler(api: Api, namespace: str) -> dict[str, Any]:
    """Read the autoscaler."""
    return api.get(f"{HPAS.format(namespace)}/mc")


def is_there(api: Api, namespace: str) -> bool:
    """Whether there is one."""
    return api.exists(f"{HPAS.format(namespace)}/mc")


def play_lead(api: Api, leads: Leads, namespace: str, uid: str) -> Lead:
    """Have a lead of the tests answer where the lead's pod is."""
    lead = leads.add(uid)
    where = f"/api/v1/namespaces/{namespace}/pods"

    def pod() -> str:
        index = "batch.kubernetes.io/job-completion-index=0"
        found = [
            each["metadata"]["name"]
            for each in api.items(where, labelSelector=index)
            if each["status"].get("phase") == "Running"
        ]
        return str(found[0]) if found else ""

    adapters.run_pod_at(api, namespace, until(pod, "the lead's pod to run"), lead.address)
    return lead


def asked(api: Api, namespace: str, size: int) -> None:
    """Wait until the autoscaler has asked for a size, and the operator has made it so."""

    def done() -> bool:
        item = read(api, namespace)
        return bool(item["spec"]["size"] == size == item["status"]["size"])

    try:
        until(done, f"size {size}", operators.SECONDS)
    except TimeoutError as error:
        found = (scaler(api, namespace), read(api, namespace)["status"])
        raise AssertionError(f"{error}: {found}") from error


class TestObject:
    def test_it_is_made_and_owned_and_left_alone(self, operator: Operator, api: Api, namespace: str) -> None:
        """As Kubernetes 1.36 stores it, nothing in it is other than it was applied."""
        made = create(api, namespace, minSize=1, autoscaling={"minSize": 2})
        item = settled(api, namespace, Autoscaling=FOLLOWING)
        found = scaler(api, namespace)
        assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [made["metadata"]["uid"]]
        spec = found["spec"]
        assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 4)
        assert spec["metrics"][0]["object"]["target"] == {"type": "AverageValue", "averageValue": "1"}
        assert {way: each["tolerance"] for way, each in spec["behavior"].items()} == {
            "scaleUp": "0",
            "scaleDown": "0",
        }
        assert message(item, "Autoscaling") == "the size follows flux_nodes_demanded, from 2 to 4"

    def test_another_operator_finds_nothing_to_do(
        self, scaling_plane: ControlPlane, operator: Operator, api: Api, namespace: str
    ) -> None:
        """What it would change, or apply again, would show in the object's version."""
        create(api, namespace, autoscaling={})
        settled(api, namespace, Autoscaling=FOLLOWING)
        before = scaler(api, namespace)
        applied = [each for each in before["metadata"]["managedFields"] if each["operation"] == "Apply"]
        log = operator.log.with_name("another")
        with operators.running(
            operators.account(scaling_plane), log, "-n", namespace, "--no-leader-election"
        ):
            api.merge(operators.path(namespace, "mc"), {"spec": {"backoffLimit": 7}})
            until(lambda: read(api, namespace)["status"]["observedGeneration"] == 2, "the change to be seen")
        after = scaler(api, namespace)
        assert (
            after["metadata"]["annotations"][ANNOTATION_DIGEST]
            == (before["metadata"]["annotations"][ANNOTATION_DIGEST])
        )
        assert [
            each for each in after["metadata"]["managedFields"] if each["operation"] == "Apply"
        ] == applied

    def test_what_somebody_edits_or_deletes_is_made_good(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        create(api, namespace, autoscaling={})
        settled(api, namespace, Autoscaling=FOLLOWING)
        before, resource_path = scaler(api, namespace), f"{HPAS.format(namespace)}/mc"
        api.merge(resource_path, {"spec": {"maxReplicas": 3, "metrics": None}})
        until(lambda: scaler(api, namespace)["spec"] == before["spec"], "the edit to be undone")
        api.delete(resource_path)
        until(lambda: is_there(api, namespace), "the autoscaler to be made again")
        assert scaler(api, namespace)["metadata"]["uid"] != before["metadata"]["uid"]

    def test_it_goes_when_nobody_wants_it_and_comes_again(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """Taken out of the document, or suspended."""
        create(api, namespace, autoscaling={})
        settled(api, namespace, Autoscaling=FOLLOWING)
        resource_path = operators.path(namespace, "mc")
        api.merge(resource_path, {"spec": {"autoscaling": None}})
        until(lambda: not is_there(api, namespace), "the autoscaler to be deleted")
        api.merge(resource_path, {"spec": {"autoscaling": {}}})
        settled(api, namespace, Autoscaling=FOLLOWING)
        api.merge(resource_path, {"spec": {"suspend": True}})
        settled(api, namespace, Autoscaling=("False", "HeldBack"))
        until(lambda: not is_there(api, namespace), "the autoscaler to be deleted")
        api.merge(resource_path, {"spec": {"suspend": False}})
        settled(api, namespace, Autoscaling=FOLLOWING)

    def test_somebody_elses_is_left_alone(self, operator: Operator, api: Api, namespace: str) -> None:
        """The MiniCluster is made all the same; once the other one is gone, it has its own."""
        theirs = autoscalers.hpa("Object")
        made = api.create(HPAS.format(namespace), theirs)
        create(api, namespace, autoscaling={})
        item = settled(
            api, namespace, Autoscaling=("False", "NameTaken"), ResourcesCreated=("True", "Created")
        )
        assert "HorizontalPodAutoscaler mc belongs to somebody else" in message(item, "Autoscaling")
        assert scaler(api, namespace)["spec"] == made["spec"]
        api.delete(f"{HPAS.format(namespace)}/mc")
        settled(api, namespace, Autoscaling=FOLLOWING)

    def test_what_the_server_does_not_take_is_reported(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """In its words; the MiniCluster is made all the same."""
        api.create(
            f"/api/v1/namespaces/{namespace}/resourcequotas",
            {
                "metadata": {"name": "none"},
                "spec": {"hard": {"count/horizontalpodautoscalers.autoscaling": "0"}},
            },
        )
        quota = f"/api/v1/namespaces/{namespace}/resourcequotas/none"
        until(lambda: (api.get(quota).get("status") or {}).get("hard"), "the quota to count")
        create(api, namespace, autoscaling={})
        item = settled(api, namespace, Autoscaling=("False", "Refused"), ResourcesCreated=("True", "Created"))
        assert "exceeded quota" in message(item, "Autoscaling")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "below minSize": ({"minSize": 2, "autoscaling": {"minSize": 1}}, messages.AUTOSCALING_MIN),
    "above maxSize": ({"autoscaling": {"maxSize": 5}}, messages.AUTOSCALING_MAX),
    "beyond maxSize": ({"autoscaling": {"minSize": 5}}, messages.AUTOSCALING_BEYOND),
    "least above greatest": ({"autoscaling": {"minSize": 3, "maxSize": 2}}, messages.AUTOSCALING_ORDER),
    "minSize above its greatest": (
        {"minSize": 2, "autoscaling": {"maxSize": 1}},
        messages.AUTOSCALING_ORDER,
    ),
}


class TestBounds:
    @pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
    def test_what_cannot_be_is_refused(
        self, api: Api, namespace: str, spec: dict[str, Any], message: str
    ) -> None:
        """By the API server, before anybody looks at it."""
        assert message in operators.refusal(lambda: create(api, namespace, **spec))

    def test_the_size_at_start_bounds_it_also_after_a_shrink(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """Without maxSize: the autoscaler would be refused else, by its own greatest size."""
        create(api, namespace, size=4, maxSize=0, autoscaling={"maxSize": 4})
        until(lambda: (read(api, namespace).get("status") or {}).get("maximumSize") == 4, "its greatest size")
        api.merge(operators.path(namespace, "mc", "scale"), {"spec": {"replicas": 1}})
        assert read(api, namespace)["spec"]["size"] == 1
        resource_path = operators.path(namespace, "mc")
        assert messages.AUTOSCALING_MAX in operators.refusal(
            lambda: api.merge(resource_path, {"spec": {"autoscaling": {"maxSize": 5}}})
        )


def apply(api: Api, namespace: str, folder: Path, **spec: Any) -> str:
    """Apply a document that has a size of its own, as a person does; return what is said."""
    scaling = {"size": 4, "maxSize": 0, "autoscaling": {"behavior": {"scaleDown": AT_ONCE}}}
    document = {**operators.DOCUMENT, "metadata": {"name": "mc"}}
    file = written(folder, {**document, "spec": {**operators.DOCUMENT["spec"], **scaling, **spec}})
    done = CommandLine(api.access.kubeconfig, namespace)("up", file, "--no-wait")
    assert done.returncode == 0, done.stderr
    return done.stderr


EXAMPLES = Path(__file__).parents[3] / "examples" / "autoscaling"


class TestExamples:
    @pytest.mark.parametrize("file", ["hpa-object.yaml", "hpa-external.yaml", "hpa-cpu.yaml"])
    def test_an_autoscaler_by_hand_is_taken_as_it_is(
        self, operator: Operator, api: Api, namespace: str, file: str
    ) -> None:
        """With every field known, and it finds the MiniCluster that it is about."""
        document = yaml.safe_load((EXAMPLES / file).read_text())
        (cluster_,) = yaml.safe_load_all((EXAMPLES.parent / "scaling" / "minicluster.yaml").read_text())
        api.create(operators.path(namespace), cluster_)
        settled(api, namespace, "scaling", ResourcesCreated=("True", "Created"))
        api.create(f"{HPAS.format(namespace)}?fieldValidation=Strict", document)
        resource_path = f"{HPAS.format(namespace)}/scaling"

        def able() -> bool:
            conditions = api.get(resource_path).get("status", {}).get("conditions") or []
            return ("AbleToScale", "True") in {(each["type"], each["status"]) for each in conditions}

        until(able, "the autoscaler to find its target", operators.SECONDS)
        stored = api.get(resource_path)["spec"]
        assert {key: stored[key] for key in ("minReplicas", "maxReplicas", "metrics")} == {
            key: document["spec"][key] for key in ("minReplicas", "maxReplicas", "metrics")
        }

    def test_the_policy_for_keda_is_taken_as_it_is(self, api: Api, namespace: str) -> None:
        policy, *_ = yaml.safe_load_all((EXAMPLES / "keda.yaml").read_text())
        where = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"
        made = api.create(f"{where}?fieldValidation=Strict", policy)
        assert made["spec"] == policy["spec"]

    def test_the_document_gets_its_autoscaler(self, operator: Operator, api: Api, namespace: str) -> None:
        document = yaml.safe_load((EXAMPLES / "minicluster.yaml").read_text())
        api.create(operators.path(namespace), document)
        settled(api, namespace, "autoscaled", Autoscaling=FOLLOWING)
        found = api.get(f"{HPAS.format(namespace)}/autoscaled")["spec"]
        by_hand = yaml.safe_load((EXAMPLES / "hpa-object.yaml").read_text())["spec"]
        by_hand["behavior"]["scaleDown"] |= {"stabilizationWindowSeconds": 120, "selectPolicy": "Max"}
        assert found["behavior"] == by_hand["behavior"]
        assert (found["minReplicas"], found["maxReplicas"]) == (1, 4)


class TestScaling:
    @pytest.mark.timeout(300)
    def test_the_size_follows_the_demand_between_its_bounds(
        self, operator: Operator, adapter: Adapter, api: Api, namespace: str, leads: Leads, tmp_path: Path
    ) -> None:
        """Of a MiniCluster without maxSize: from 1 to the size at its start.

        It stays when the document is applied once more, and while suspended.
        """
        apply(api, namespace, tmp_path)
        made = settled(api, namespace, Autoscaling=FOLLOWING)
        lead = play_lead(api, leads, namespace, made["metadata"]["uid"])
        for demanded, size in ((2, 2), (9, 4), (0, 1), (3, 3)):
            lead.serve_numbers(flux_nodes_demanded=demanded)
            asked(api, namespace, size)
        applied = apply(api, namespace, tmp_path, backoffLimit=7)
        assert applied == "minicluster: mc: spec.size stays as the autoscaler has set it (--force sets it)\n"
        found = read(api, namespace)["spec"]
        assert (found["size"], found["backoffLimit"]) == (3, 7)
        api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": True}})
        settled(api, namespace, Suspended=("True", "Suspended"), Autoscaling=("False", "HeldBack"))
        until(lambda: not is_there(api, namespace), "the autoscaler to be deleted")
        assert read(api, namespace)["spec"]["size"] == 3
