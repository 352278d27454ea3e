"""The provider on a real API server: what its controllers and its admission answer, in words."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid
from burst.lifecycle.records import ResourcePhase
from burst.providers.kubernetes.preflight import RIGHTS
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from burst.providers.provider import WantedBurst
from tests.burst.joining.near import join_settings, near
from tests.devcluster import until
from tests.kubernetes import inventory
from tests.kubernetes.command_line import RBAC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.providers.kubernetes.preflight import NeededRight
    from tests.devcluster import Api, ControlPlane

SECONDS = 60.0
ROOT = near(pod={})


class Burst:
    """A burst of two nodes in a namespace."""

    def __init__(self, kubeconfig: Path, namespace: str, *, seconds: float = 600, **settings: Any) -> None:
        model = KubernetesSettings.model_validate(
            {
                "kubeconfig": str(kubeconfig),
                "namespace": namespace,
                "offers": [{"machine": "c8", "cores": 8, **settings}],
            }
        )
        self.provider = KubernetesProvider("far", model, lambda _: join_settings(cluster=ROOT))
        until_ = time.time() + seconds
        self.wanted = WantedBurst(
            "62dgmfw4gk", "here", 2, "c8", spot=False, until=until_, cluster="uid", slot="burst-0"
        )

    @property
    def key(self) -> ResourceKey:
        return self.provider.resources(self.wanted)[0]

    def create(self) -> None:
        self.provider.create(self.key, "token", self.wanted)

    def delete(self) -> None:
        self.provider.delete(self.key, self.wanted)

    def get(self) -> ResourceReport:
        return self.provider.get(self.key, self.wanted)

    def becomes(self, phase: ResourcePhase, *words: str) -> ResourceReport:
        """Wait for a phase and words of its reason."""

        def poll() -> ResourceReport | None:
            found = self.get()
            return found if found.phase is phase and all(each in found.reason for each in words) else None

        try:
            found = until(poll, f"{phase} {words}", SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}: it is {self.get()}") from error
        assert found is not None
        return found


@pytest.fixture
def _fake(plane: ControlPlane) -> None:
    plane.add_fake_nodes(2)


@pytest.fixture
def burst(plane: ControlPlane, namespace: str, _fake: None) -> Burst:
    return Burst(plane.kubeconfig, namespace)


def quota(api: Api, namespace: str, **hard: str) -> None:
    """Limit a namespace, and wait until that is in force."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    names = {key.replace("_", "/").replace("-batch", ".batch"): value for key, value in hard.items()}
    api.create(path, {"metadata": {"name": "small"}, "spec": {"hard": names}})
    until(lambda: api.get(f"{path}/small").get("status", {}).get("used"), "the quota to be counted", SECONDS)


def test_a_burst_leaves_nothing_of_any_kind(burst: Burst, api: Api) -> None:
    before = inventory.of(api)
    burst.create()
    burst.becomes(ResourcePhase.READY)
    assert len({each for each in inventory.of(api) - before if "mcb-" in each}) >= 7
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)
    assert {each for each in inventory.of(api) - before if "mcb-" in each} == set()


def test_pods_beyond_a_quota_break_it_in_words(burst: Burst, api: Api, namespace: str) -> None:
    quota(api, namespace, pods="1")
    burst.create()
    burst.becomes(ResourcePhase.BROKEN, "its Job cannot make pods", "exceeded quota: small")
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)


def test_a_job_beyond_a_quota_is_refused(burst: Burst, api: Api, namespace: str) -> None:
    quota(api, namespace, **{"count_jobs-batch": "0"})
    with pytest.raises(AccountLimitReached, match="exceeded quota: small"):
        burst.create()
    [left] = burst.provider.owned("here")
    assert left.phase is ResourcePhase.BROKEN
    assert "ResourceQuota small has nothing left of count/jobs.batch: 0 are used" in burst.provider.problems()
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)
    until(lambda: not list(burst.provider.owned("here")), "nothing to be left", SECONDS)


def test_pods_that_are_not_admitted_break_it_in_words(burst: Burst, api: Api, namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    assert "restricted" in next(iter(burst.provider.problems()))
    burst.create()
    burst.becomes(ResourcePhase.BROKEN, "its Job cannot make pods", 'violates PodSecurity "restricted')
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)


@pytest.mark.usefixtures("_fake")
def test_pods_for_which_there_is_no_node_wait_in_words(plane: ControlPlane, namespace: str) -> None:
    burst = Burst(plane.kubeconfig, namespace, nodeSelector={"pool": "none"})
    burst.create()
    burst.becomes(ResourcePhase.COMING, "is on no node", "didn't match Pod's node affinity/selector")
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)


@pytest.mark.usefixtures("_fake")
def test_a_burst_ends_by_itself_when_its_time_is_over(plane: ControlPlane, api: Api, namespace: str) -> None:
    burst = Burst(plane.kubeconfig, namespace, seconds=4)
    burst.create()
    burst.becomes(ResourcePhase.BROKEN, "DeadlineExceeded")
    path = f"/api/v1/namespaces/{namespace}/pods"
    until(lambda: not api.items(path), "its pods to be gone", SECONDS)


def test_a_namespace_that_is_missing_is_refused(plane: ControlPlane) -> None:
    burst = Burst(plane.kubeconfig, "no-such")
    with pytest.raises(CallInvalid, match='namespaces "no-such" not found'):
        burst.create()
    assert list(burst.provider.problems()) == [
        "there is no namespace no-such: an administrator makes it, for bursts alone"
    ]


def grant(api: Api, namespace: str, user: str, rules: Sequence[dict[str, Any]]) -> None:
    """Give a user rights in a namespace."""
    path = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    api.create(f"{path}/roles", {"metadata": {"name": user}, "rules": list(rules)})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": user},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": f"{user}-{namespace}"}],
    }
    api.create(f"{path}/rolebindings", binding)


@pytest.mark.usefixtures("_fake")
def rules(rights: Iterable[NeededRight]) -> list[dict[str, list[str]]]:
    """Return the rules of a Role that has these rights."""
    return [{"apiGroups": [each.group], "resources": [each.name], "verbs": [each.verb]} for each in rights]


def test_the_rights_that_are_asked_for_suffice(plane: ControlPlane, api: Api, namespace: str) -> None:
    plane.add_fake_nodes(2)
    kubeconfig = plane.user(f"bursts-{namespace}").kubeconfig
    burst = Burst(kubeconfig, namespace)
    [problem], [of_tunnels] = burst.provider.problems(), burst.provider.tunnel_problems()
    assert problem.startswith(f"the credentials may not, in namespace {namespace}: create configmaps, get")
    assert of_tunnels.endswith(
        "list services, delete services, get pods/portforward, create pods/portforward"
    )
    with pytest.raises(AccessDenied, match="configmaps is forbidden"):
        burst.create()
    grant(api, namespace, "bursts", rules(RIGHTS))
    until(lambda: not list(burst.provider.problems()), "the rights to be there", SECONDS)
    burst.create()
    burst.becomes(ResourcePhase.READY)
    burst.delete()
    burst.becomes(ResourcePhase.ABSENT)
