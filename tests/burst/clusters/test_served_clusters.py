"""MiniClusters of a service in their cluster: leads by their APIs, with keys for bursts from one Secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from burst.clusters.burst_keys import BurstKeys
from burst.clusters.served_clusters import KeyReach, ServedClusters, by_name
from burst.errors import AccessDenied, LeadAway
from burst.joining.records import LeadHost
from minicluster.backends.errors import BackendError
from minicluster.instance.errors import InstanceGone
from minicluster.kube_client.access import Access
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.machine_access import fingerprint
from minicluster.lead_client.purpose_keys import BURST, PurposeKeys
from minicluster.lead_client.renewed_keys import CHECK_INTERVAL, FORMER_LIFE, RETRY_DELAY
from minicluster.lead_server import curve_route, files, instance_route, machine_tokens
from minicluster.lead_server.purposes import CURVE_CERTIFICATE, INSTANCE
from minicluster.lead_server.routes import Audience
from minicluster.lead_server.server import Server
from minicluster.plan.constants import BURST_FINALIZER
from minicluster.plan.objects.labels import lead_pod
from tests.burst.clusters.test_kubernetes_clusters import CLUSTERS, NAMESPACE, SECRET, UID, Source
from tests.burst.joining.near import near
from tests.burst.providers.kubernetes.fake_api import Refusal, serving
from tests.lead.keys import Authority
from tests.lead.played_broker import PlayedBroker
from tests.lead.serving import serving as listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYSTEM = ("system", "minicluster-burst")
KEYS = "/api/v1/namespaces/system/secrets/minicluster-burst"
NAME = f"{UID}.door.minicluster"


class Lead:
    """The API of a lead with a broker that is played."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = Authority()
        authority.write(folder / "keys", NAME)
        self.keys = PurposeKeys(BURST, authority.certificate, b"k" * 32)
        self.token = folder / "tokens" / "burst.token"
        self.token.parent.mkdir()
        self.token.write_text(self.keys.token(UID))
        self.certificate = folder / "curve.cert"
        self.certificate.write_text(SECRET)
        credentials = files.ServerCredentials(str(folder / "keys"), tokens=str(self.token.parent))
        broker = PlayedBroker()
        routes = {
            **instance_route.routes(broker.connect, credentials),
            **curve_route.routes(str(self.certificate)),
        }
        audiences = {INSTANCE: Audience.INSTANCE, CURVE_CERTIFICATE: Audience.BURST}
        self.server = Server(0, credentials, routes, lambda _: None, audiences)


@pytest.fixture
def lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lead]:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    made = Lead(tmp_path)
    with listening(made.server):
        yield made


@pytest.fixture
def source(tmp_path: Path, lead: Lead) -> Iterator[Source]:
    """An API server with the Secret, and with one lead, which is on this machine."""
    folder = tmp_path / "api"
    folder.mkdir()
    with serving(folder) as (api, kubeconfig):
        api.add(KEYS, lead.keys.secret("system"))
        access = Access(str(kubeconfig))
        keys = BurstKeys(access, SYSTEM)
        there = ("127.0.0.1", lead.server.port)
        yield Source(api, kubeconfig, ServedClusters(access, keys, (NAMESPACE,), lambda _: there))


def test_a_lead_is_joined_without_a_right_to_read_its_secret(source: Source) -> None:
    found = source.one(expose="none")
    joined = found.join("burst-0")
    assert (joined.certificate, joined.address) == (SECRET, "10.1.2.3")
    asked = {each for each in source.api.requests if "/secrets/" in each}
    assert asked == {f"GET {KEYS}"}
    assert source.api.items[f"{CLUSTERS}/mc"]["metadata"]["finalizers"] == [BURST_FINALIZER]


def test_by_a_tunnel_its_pods_alone_are_admitted_until_its_bursts_are_gone(
    source: Source, lead: Lead
) -> None:
    keys = BurstKeys(Access(str(source.kubeconfig)), SYSTEM)
    endpoint = ("mc-0.mc.science.svc", lead.server.port)
    tunnels = ServedClusters(
        Access(str(source.kubeconfig)), keys, (NAMESPACE,), lambda _: endpoint, tunnels="system"
    )
    reach = tunnels._reach
    assert isinstance(reach, KeyReach)
    reach.certificate = lambda _: SECRET  # type: ignore[method-assign]
    found = source._replace(clusters=tunnels).one(expose="tunnel")
    assert found.problem == ""
    joined = found.join("burst-0")
    port = found.document.spec.network.port
    assert joined.route == LeadHost("mc-0.mc.science.svc", port, "system")
    assert (joined.address, joined.port, source.exposed()) == ("", port, ["NetworkPolicy"])
    [made] = source.api.of("networkpolicies")
    [rule] = made["spec"]["ingress"]
    assert made["spec"]["podSelector"]["matchLabels"] == lead_pod(found.document)
    assert rule == {
        "ports": [{"port": port, "protocol": "TCP"}],
        "from": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "system"}},
                "podSelector": {
                    "matchLabels": {
                        "app.kubernetes.io/name": "minicluster-burst-tunnel",
                        "minicluster-cluster": UID,
                    }
                },
            }
        ],
    }
    tunnels.withdraw({UID})
    assert source.exposed() == ["NetworkPolicy"]
    tunnels.withdraw(set())
    assert source.exposed() == []


def test_without_tunnels_the_value_that_has_them_is_named(source: Source) -> None:
    assert source.one(expose="tunnel").problem == (
        "spec.bursting.expose is tunnel, and this service makes none: an administrator sets"
        " tunnels.enabled=true in the values of its chart (--tunnels); or set it to nodePort or loadBalancer,"
        " or to none where the lead's pod is reached by its own address"
    )


def test_an_instance_is_used_over_the_leads_api(source: Source) -> None:
    with source.one(expose="none").connect() as instance:
        assert instance.links.rpc("resource.status", {}) == {"topic": "resource.status"}
        assert instance.uri == "MiniCluster science/mc"


def test_without_keys_the_reason_is_the_operators_secret(source: Source) -> None:
    found = source.one(expose="none")
    del source.api.items[KEYS]
    missing = "Secret system/minicluster-burst with the keys for leads is missing: the operator makes it"
    with pytest.raises(InstanceGone) as caught:
        found.connect()
    assert str(caught.value) == missing
    with pytest.raises(LeadAway) as away:
        found.join("burst-0")
    assert str(away.value) == f"MiniCluster science/mc: {missing}"


def test_a_lead_that_is_away_has_no_certificate(source: Source, lead: Lead) -> None:
    found = source.one(expose="none")
    lead.certificate.unlink()
    with pytest.raises(LeadAway, match=r"MiniCluster science/mc: the lead API at .* answers 503: .*No such"):
        found.join("burst-0")


def test_what_a_service_may_not_write_is_an_error(source: Source) -> None:
    """A user bursts without; a service would leave machines behind that nobody knows of."""
    found = source.one(expose="none")
    words = 'User "burst" cannot patch resource "miniclusters" in API group "flux-framework.org"'
    source.api.fail("PATCH", "miniclusters", Refusal(403, words))
    with pytest.raises(AccessDenied, match=r"MiniCluster science/mc: User .* Needed is the verb patch"):
        found.join("burst-0")


def test_several_namespaces_or_all_are_served(source: Source) -> None:
    access = Access(str(source.kubeconfig))
    keys = BurstKeys(access, SYSTEM)
    several, every = ServedClusters(access, keys, ("science", "art")), ServedClusters(access, keys)
    assert several.location.startswith("namespaces science, art of http://")
    assert every.location.startswith("every namespace of http://")
    source.add(bursting={})
    source.api.add(
        f"{CLUSTERS.replace(NAMESPACE, 'art')}/b",
        {**source.api.items[f"{CLUSTERS}/mc"], "metadata": {"name": "b", "namespace": "art", "uid": "u"}},
    )
    assert [each.name for each in several.clusters()] == ["art/b", "science/mc"]


def test_a_namespace_that_cannot_be_listed_any_more_keeps_no_other_back(source: Source) -> None:
    access = Access(str(source.kubeconfig))
    several = ServedClusters(access, BurstKeys(access, SYSTEM), ("art", "science"))
    source.add(bursting={})
    before = several.clusters()
    source.add("new", {}, uid="u")
    source.api.fail("GET", "art", Refusal(403, "no"))
    assert [each.name for each in several.clusters()] == ["science/mc", "science/new"]
    source.api.fail("GET", "science", Refusal(403, "no"))
    assert [each.name for each in several.clusters()] == ["science/mc", "science/new"]
    assert [each.name for each in before] == ["science/mc"]


def test_a_namespace_that_cannot_be_listed_at_first_is_an_error(source: Source) -> None:
    access = Access(str(source.kubeconfig))
    several = ServedClusters(access, BurstKeys(access, SYSTEM), ("art", "science"))
    source.api.fail("GET", "science", Refusal(403, "not there"))
    with pytest.raises(BackendError, match="not there"):
        several.clusters()


def test_a_lead_is_found_by_its_pods_name() -> None:
    assert by_name(near()) == ("near-0.near.science.svc", 8443)


# -- keys ------------------------------------------------------------------------------------------------


class Clock:
    """Seconds, as a test sets them."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def kept(source: Source) -> tuple[BurstKeys, Clock]:
    clock = Clock()
    return BurstKeys(Access(str(source.kubeconfig)), SYSTEM, clock), clock


def reads(source: Source) -> int:
    return source.api.requests.count(f"GET {KEYS}")


def test_the_secret_is_read_once_a_minute(source: Source, kept: tuple[BurstKeys, Clock], lead: Lead) -> None:
    keys, clock = kept
    assert keys.current() == keys.current() == (lead.keys,)
    assert (reads(source), keys.trouble) == (1, "")
    clock.now += CHECK_INTERVAL
    assert keys.current() == (lead.keys,)
    assert reads(source) == 2


def test_keys_that_a_lead_refused_are_read_again_but_not_too_often(
    source: Source, kept: tuple[BurstKeys, Clock], lead: Lead
) -> None:
    keys, clock = kept
    keys.current()
    new = LeadAuthority.make().purpose(BURST)
    source.api.add(KEYS, new.secret("system"))
    keys.refused()
    assert keys.current() == (lead.keys,)
    clock.now += RETRY_DELAY
    assert keys.current() == (new, lead.keys)
    clock.now += FORMER_LIFE + 1
    assert keys.current() == (new,)


def test_a_secret_that_cannot_be_read_leaves_the_former_keys(
    source: Source, kept: tuple[BurstKeys, Clock], lead: Lead
) -> None:
    keys, clock = kept
    keys.current()
    damaged: dict[str, Any] = {"metadata": {"name": SYSTEM[1]}, "data": {}}
    source.api.add(KEYS, damaged)
    clock.now += CHECK_INTERVAL
    assert keys.current() == (lead.keys,)
    where = "Secret system/minicluster-burst with the keys for leads"
    assert keys.trouble == f"{where} cannot be used: burst.key is missing"


def test_machines_get_tokens_that_this_lead_accepts_by_its_own_certificate(
    source: Source, lead: Lead
) -> None:
    found = source.one(expose="none")
    assert found.join_machines is not None
    route = found.join_machines("burst-0").machines
    assert route is not None
    assert (route.address, route.port, route.name) == ("10.1.2.3", 8443, NAME)
    assert route.fingerprint == fingerprint((lead.folder / "keys" / files.CERTIFICATE).read_text())
    token = route.token("aaaaaaaaaa", 0, 1_800_000_000)
    assert machine_tokens.verified(lead.token.read_bytes(), token) == ("aaaaaaaaaa", 0, 1_800_000_000)
