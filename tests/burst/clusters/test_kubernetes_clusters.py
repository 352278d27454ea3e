"""MiniClusters of an API server as a source of bursts: found, joined, exposed, and taken back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from burst.clusters import policy
from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
from burst.errors import AccessDenied, LeadAway, NameTaken
from burst.joining import exposure
from burst.settings.file import parse
from minicluster.backends.errors import BackendError
from minicluster.instance.errors import InstanceGone
from minicluster.kube_client.access import Access
from minicluster.lead_client.machine_access import fingerprint
from minicluster.lead_server import machine_tokens
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import lead_pod
from tests.burst.joining.near import SPEC
from tests.burst.providers.kubernetes.fake_api import Refusal, serving
from tests.lead.keys import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from burst.clusters.records import BurstingCluster
    from minicluster.document import MiniCluster
    from tests.burst.providers.kubernetes.fake_api import FakeApi

NAMESPACE = "science"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
CLUSTERS = f"/apis/flux-framework.org/v1alpha2/namespaces/{NAMESPACE}/miniclusters"
UID = "5f0e2a8c-1111-2222-3333-444455556666"
SECRET = "of two keys, which are secret"
TOKEN = "t" * 64
FORBIDDEN = (
    'secrets "x" is forbidden: User "ada" cannot get resource "secrets" in API group ""'
    ' in the namespace "science"'
)
UNFIT = (
    "brokers of kind local cannot join a MiniCluster there: no lead in a pod is reached from this machine;"
    " right would be a provider of another kind, such as kubernetes, in the settings"
)
KINDS = "{currency: EUR, providers: [{name: here, kind: local}, {name: far, kind: memory}]}"


class Source(NamedTuple):
    """An API server, and what is found there."""

    api: FakeApi
    kubeconfig: Path
    clusters: KubernetesClusters

    def add(self, name: str = "mc", bursting: Any = None, **metadata: Any) -> None:
        """Have a MiniCluster."""
        spec = {**SPEC, **({} if bursting is None else {"bursting": bursting})}
        about = {"name": name, "namespace": NAMESPACE, "uid": UID, **metadata}
        item = {
            "apiVersion": "flux-framework.org/v1alpha2",
            "kind": "MiniCluster",
            "metadata": about,
            "spec": spec,
        }
        self.api.add(f"{CLUSTERS}/{name}", item)

    def one(self, **bursting: Any) -> BurstingCluster:
        """Have one MiniCluster with a certificate and a lead, and return it."""
        self.add(bursting=bursting)
        [found] = self.clusters.clusters()
        document = found.document
        data = {"curve.cert": base64.b64encode(SECRET.encode()).decode()}
        name = names.curve_secret(document)
        self.api.add(f"{CORE}/secrets/{name}", {"metadata": {"name": name}, "data": data})
        status = {"phase": "Running", "hostIP": "192.0.2.11", "podIP": "10.1.2.3"}
        about = {"name": "mc-0", "labels": lead_pod(document)}
        self.api.add(f"{CORE}/pods/mc-0", {"metadata": about, "status": status})
        return found

    def has_port(self, document: MiniCluster) -> None:
        """Give the Service of a lead that is exposed the port that an API server gives it."""
        path = f"{CORE}/services/{exposure.exposure_name(document)}"
        self.api.items[path]["spec"]["ports"][0]["nodePort"] = 30_123

    def exposed(self) -> list[str]:
        """Return the kinds of what exposes leads."""
        return [each["kind"] for plural in ("services", "networkpolicies") for each in self.api.of(plural)]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    with serving(tmp_path) as (api, kubeconfig):
        choice = NamespaceChoice(Access(str(kubeconfig)), NAMESPACE)
        yield Source(api, kubeconfig, KubernetesClusters(choice))


def test_those_are_found_whose_bursts_are_managed(source: Source) -> None:
    source.add("b", {}, uid="uid-b")
    source.add("a", {"expose": "none"})
    source.add("by-hand")
    source.add("goes", {}, deletionTimestamp="2026-03-12T15:09:26Z")
    source.add("wrong", {"expose": "smoke"})
    first, second = source.clusters.clusters()
    assert (first.name, first.title, first.uid) == ("science/a", "science/a", UID)
    assert (second.name, second.uid) == ("science/b", "uid-b")


def test_one_that_is_listed_no_more_is_gone_and_a_listing_that_fails_is_an_error(source: Source) -> None:
    source.add(bursting={})
    assert [each.name for each in source.clusters.clusters()] == ["science/mc"]
    source.api.fail("GET", NAMESPACE, Refusal(500, "not now"))
    with pytest.raises(BackendError, match="not now"):
        source.clusters.clusters()
    del source.api.items[f"{CLUSTERS}/mc"]
    assert source.clusters.clusters() == []


def test_one_whose_document_is_invalid_now_is_not_gone(source: Source) -> None:
    """Its brokers run on as they were begun, and its bursts with them."""
    source.add(bursting={"expose": "none"})
    [before] = source.clusters.clusters()
    source.add(bursting={"expose": "smoke"})
    [after] = source.clusters.clusters()
    assert after.document == before.document


def test_without_a_kubeconfig_it_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="there is no kubeconfig"):
        KubernetesClusters(NamespaceChoice(Access(str(tmp_path / "absent"))))


def test_each_namespace_has_a_ledger_of_its_own(source: Source) -> None:
    access = Access(str(source.kubeconfig))
    others = [NamespaceChoice(access, "other"), NamespaceChoice(access, NAMESPACE, everywhere=True)]
    found = [source.clusters, *map(KubernetesClusters, others)]
    assert len({each.key for each in found}) == len(found)
    assert source.clusters.location.startswith("namespace science of http://127.0.0.1:")
    assert found[2].location.startswith("every namespace of http://127.0.0.1:")


def test_a_lead_is_exposed_when_it_is_joined_and_taken_back_once(source: Source) -> None:
    found = source.one(expose="nodePort", fenceSeconds=20)
    with pytest.raises(LeadAway, match=r"MiniCluster science/mc: its lead has no address yet \(nodePort\)"):
        found.join("burst-0")
    source.has_port(found.document)
    asked = [each for each in source.api.requests if each.startswith("PATCH") and "-bursts-" in each]
    assert len(asked) == 2
    source.clusters.withdraw({UID})
    assert source.exposed() == ["Service", "NetworkPolicy"]
    source.clusters.withdraw(frozenset())
    assert source.exposed() == []
    before = len(source.api.requests)
    source.clusters.withdraw(frozenset())
    assert len(source.api.requests) == before


def test_only_who_comes_from_the_given_ranges_is_let_in(source: Source) -> None:
    found = source.one(expose="nodePort", sourceRanges=["10.0.0.0/8", "2001:db8::/32"])
    with pytest.raises(LeadAway):
        found.join("burst-0")
    [policy] = source.api.of("networkpolicies")
    [rule] = policy["spec"]["ingress"]
    assert rule["from"] == [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"ipBlock": {"cidr": "2001:db8::/32"}}]


def test_what_is_exposed_is_joined_at_its_node(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    found = source.one(expose="nodePort", fenceSeconds=20)
    add = source.api.add

    def with_port(path: str, body: Any) -> Any:
        if body.get("kind") == "Service":
            body["spec"]["ports"][0]["nodePort"] = 30_123
        return add(path, body)

    monkeypatch.setattr(source.api, "add", with_port)
    joined = found.join("burst-0")
    assert (joined.slot, joined.address, joined.port) == ("burst-0", "192.0.2.11", 30_123)
    assert (joined.certificate, joined.fence, joined.cluster.metadata.uid) == (SECRET, 20.0, UID)
    assert SECRET not in repr(joined)


def test_another_service_takes_back_what_one_has_left(source: Source) -> None:
    found = source.one(expose="nodePort")
    with pytest.raises(LeadAway):
        found.join("burst-0")
    later = KubernetesClusters(NamespaceChoice(Access(str(source.kubeconfig)), NAMESPACE))
    later.clusters()
    later.withdraw(frozenset())
    assert source.exposed() == []


def test_a_lead_that_is_not_exposed_is_joined_at_its_pod(source: Source) -> None:
    found = source.one(expose="none")
    joined = found.join("burst-0")
    assert (joined.address, joined.port) == ("10.1.2.3", found.document.spec.network.port)
    assert source.exposed() == []


def test_a_load_balancer_is_waited_for(source: Source) -> None:
    found = source.one(expose="loadBalancer")
    with pytest.raises(LeadAway, match=r"its lead has no address yet \(loadBalancer\)"):
        found.join("burst-0")


def test_a_tunnel_is_joined_by_a_route_with_the_rights_of_whoever_serves(source: Source) -> None:
    found = source.one()
    assert policy.of_cluster(found, parse(KINDS, source="test").settings, 0.0).problem == ""
    joined = found.join("burst-0")
    port = found.document.spec.network.port
    labels = ",".join(f"{key}={value}" for key, value in lead_pod(found.document).items())
    assert joined.route == (str(source.kubeconfig), "", NAMESPACE, labels, port)
    assert (joined.address, joined.port) == ("", port)
    assert source.exposed() == []


@pytest.mark.parametrize(
    ("providers", "names", "problem"),
    [
        ([], ("far",), ""),
        (["far", "here"], ("far",), ""),
        (
            ["here"],
            (),
            f"here: {UNFIT}",
        ),
    ],
)
def test_processes_of_this_machine_cannot_join(
    source: Source, providers: list[str], names: tuple[str, ...], problem: str
) -> None:
    found = source.one(expose="none", providers=providers)
    planned = policy.of_cluster(found, parse(KINDS, source="test").settings, 0.0)
    assert (planned.providers, planned.problem) == (names, problem)


def test_a_certificate_that_is_not_there_yet_is_waited_for(source: Source) -> None:
    found = source.one(expose="none")
    name = names.curve_secret(found.document)
    del source.api.items[f"{CORE}/secrets/{name}"]
    with pytest.raises(LeadAway, match=f"MiniCluster science/mc: its Secret {name} is not there yet"):
        found.join("burst-0")


def test_a_certificate_that_may_not_be_read_is_refused_with_the_right_that_is_needed(source: Source) -> None:
    found = source.one(expose="none")
    source.api.fail("GET", "secrets", Refusal(403, FORBIDDEN))
    with pytest.raises(AccessDenied) as caught:
        found.join("burst-0")
    assert str(caught.value) == (
        f"MiniCluster science/mc: {FORBIDDEN}. Needed is the verb get on secrets: ask whoever administers"
        " the cluster for the role edit in namespace science"
    )


def test_who_may_not_read_services_has_nothing_to_take_back(source: Source) -> None:
    source.one(expose="none")
    source.api.fail("GET", "services", Refusal(403, FORBIDDEN.replace("secrets", "services")))
    source.clusters.withdraw(frozenset())
    before = len(source.api.requests)
    source.clusters.withdraw(frozenset())
    assert len(source.api.requests) == before


def test_what_could_not_be_taken_back_is_tried_again(source: Source) -> None:
    found = source.one(expose="nodePort")
    with pytest.raises(LeadAway):
        found.join("burst-0")
    source.api.fail("DELETE", "networkpolicies", Refusal(500, "not now"))
    with pytest.raises(BackendError, match="not now"):
        source.clusters.withdraw(frozenset())
    source.clusters.withdraw(frozenset())
    assert source.exposed() == []


def test_a_service_of_somebody_else_is_left_alone(source: Source) -> None:
    found = source.one(expose="nodePort")
    name = exposure.exposure_name(found.document)
    source.api.add(f"{CORE}/services/{name}", {"kind": "Service", "metadata": {"name": name}})
    with pytest.raises(NameTaken, match=f"Service {name} is there, and not of this MiniCluster"):
        found.join("burst-0")
    source.clusters.withdraw(frozenset())
    assert "Service" in source.exposed()


def test_an_instance_that_does_not_run_is_not_connected(source: Source) -> None:
    found = source.one(expose="none")
    pod = source.api.items[f"{CORE}/pods/mc-0"]
    pod["spec"] = {"containers": [{"name": "flux"}]}
    with pytest.raises(InstanceGone, match="cluster mc: its lead broker does not run yet: pod mc-0"):
        found.connect()


MACHINES = "{currency: EUR, providers: [{name: vms, kind: compute-engine}]}"


def with_tokens(source: Source, found: BurstingCluster) -> str:
    """Give a lead the files of its API; return the fingerprint of its certificate."""
    files = {"curve.cert": SECRET, "door.crt": Authority().certificate}
    path = f"{CORE}/secrets/{names.curve_secret(found.document)}"
    source.api.items[path]["data"] = {
        each: base64.b64encode(text.encode()).decode() for each, text in files.items()
    }
    tokens = names.token_secret(found.document)
    data = {"burst.token": base64.b64encode(TOKEN.encode()).decode()}
    source.api.add(f"{CORE}/secrets/{tokens}", {"metadata": {"name": tokens}, "data": data})
    return fingerprint(files["door.crt"])


def test_machines_reach_the_api_as_well_and_keep_it_until_bursts_are_gone(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pods of another provider that join meanwhile do not take it from them."""
    found = source.one(expose="nodePort", sourceRanges=["192.0.2.0/24"])
    shown = with_tokens(source, found)
    add = source.api.add

    def with_ports(path: str, body: Any) -> Any:
        if body.get("kind") == "Service":
            for number, each in enumerate(body["spec"]["ports"], 30_123):
                each["nodePort"] = number
        return add(path, body)

    monkeypatch.setattr(source.api, "add", with_ports)
    assert found.join_machines is not None
    joined = found.join_machines("burst-0")
    route = joined.machines
    assert route is not None
    assert (joined.address, joined.port, route.address, route.port) == (
        "192.0.2.11",
        30_123,
        "192.0.2.11",
        30_124,
    )
    assert (route.name, route.fingerprint) == (f"{UID}.door.minicluster", shown)
    token = route.token("aaaaaaaaaa", 3, 1_800_000_000.2)
    assert machine_tokens.verified(TOKEN.encode(), token) == ("aaaaaaaaaa", 3, 1_800_000_001)
    assert TOKEN not in repr(joined)
    assert SECRET not in repr(joined)

    assert found.join("burst-0").machines is None
    [service], [policy] = source.api.of("services"), source.api.of("networkpolicies")
    assert [each["name"] for each in service["spec"]["ports"]] == ["broker", "lead-api"]
    [rule] = policy["spec"]["ingress"]
    assert [each["port"] for each in rule["ports"]] == [found.document.spec.network.port, 8443]
    assert rule["from"] == [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    source.clusters.withdraw(frozenset())
    assert source.exposed() == []


def test_machines_with_a_route_to_pods_are_admitted_to_the_api_alone(source: Source) -> None:
    found = source.one(expose="none")
    with_tokens(source, found)
    assert found.join_machines is not None
    joined = found.join_machines("burst-0")
    assert joined.machines is not None
    assert (joined.machines.address, joined.machines.port) == ("10.1.2.3", 8443)
    [policy] = source.api.of("networkpolicies")
    assert [each["port"] for each in policy["spec"]["ingress"][0]["ports"]] == [8443]
    assert source.exposed() == ["NetworkPolicy"]


def test_without_an_api_of_its_lead_machines_wait(source: Source) -> None:
    found = source.one(expose="nodePort")
    assert found.join_machines is not None
    name = names.curve_secret(found.document)
    with pytest.raises(LeadAway, match=rf"MiniCluster science/mc: its Secret {name} has no door\.crt"):
        found.join_machines("burst-0")


@pytest.mark.parametrize(
    ("bursting", "problem"),
    [
        ({"expose": "nodePort"}, ""),
        (
            {},
            (
                "vms: brokers of kind compute-engine cannot join a MiniCluster there: its"
                " spec.bursting.expose is tunnel, which ends at an API server, and machines have none; right"
                " would be nodePort or loadBalancer"
            ),
        ),
    ],
)
def test_machines_are_at_no_end_of_a_tunnel(source: Source, bursting: dict[str, Any], problem: str) -> None:
    found = source.one(**bursting)
    planned = policy.of_cluster(found, parse(MACHINES, source="test").settings, 0.0)
    assert (planned.problem, planned.providers) == (problem, () if problem else ("vms",))
