"""The RESTful API's chart on real nodes, beside the operator's: users without kubectl submit by HTTPS.

Two replicas over PostgreSQL, which runs on this machine; at last one over SQLite on a volume.
"""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from minicluster.plan.constants import LEAD_API_PORT, REST_APPLICATION
from tests.devcluster import Api, ControlPlane, node_images, until
from tests.devcluster.access import Access
from tests.devcluster.errors import MissingProgramsError
from tests.devcluster.release import NAMESPACE, Release
from tests.devcluster.reporting import unavailable
from tests.kubernetes import autoscalers, reach, rest_release, rest_users, script_pods
from tests.kubernetes.autoscalers import RANGE, TWELVE, everywhere, smallest
from tests.kubernetes.ledger import Ledger, commands
from tests.kubernetes.live import BROKER_PORT, SECONDS, Live
from tests.kubernetes.reach import OPEN, REFUSED
from tests.kubernetes.rest_release import PODS, PORT, SELECTOR, RestRelease
from tests.kubernetes.rest_users import Browser, RestUser

pytestmark = pytest.mark.timeout(600)
HEALTH = 8081  # /healthz, /readyz and /metrics
TOKEN = "run/secrets/kubernetes.io/serviceaccount/token"  # /var/run leads there
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
EVERYBODYS = ({"authorization.k8s.io"}, {"authentication.k8s.io"})
"""Groups in which every user may ask about himself."""
COUNT = "i=0; until test -e /ledger/released; do i=$((i+1)); echo $i; sleep 0.1; done; echo end"


@pytest.fixture(scope="module")
def prepared(
    release: Release, nodes: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RestRelease]:
    """What the chart needs; the operator is there."""
    with rest_release.prepared(nodes, tmp_path_factory.mktemp("rest")) as found:
        yield found


@pytest.fixture(scope="module")
def service(prepared: RestRelease) -> Iterator[RestRelease]:
    """Two replicas over PostgreSQL."""
    try:
        with rest_release.server(prepared.nodes) as url:
            rest_release.store(prepared.nodes, "rest-database", {"url": url.encode()})
            prepared.install(replicas=2, database__postgresql__secretName="rest-database")
            yield prepared
    except MissingProgramsError as error:
        unavailable(error, what="PostgreSQL")


@pytest.fixture(scope="module")
def user(service: RestRelease, tmp_path_factory: pytest.TempPathFactory) -> RestUser:
    """A user, made by the first admin, who granted everybody every cluster."""
    admin = rest_users.first_admin(service, tmp_path_factory.mktemp("admin"))
    rest_users.grant_everyone(admin)
    return rest_users.new_user(admin, "alice", tmp_path_factory.mktemp("alice"))


def test_two_replicas_run_under_restricted(service: RestRelease, nodes: ControlPlane) -> None:
    """With the limits of the chart, and a root file system that they cannot write to."""
    label = nodes.api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert label["pod-security.kubernetes.io/enforce"] == "restricted"
    found = [each["spec"]["containers"][0] for each in service.pods()]
    assert [each["securityContext"]["readOnlyRootFilesystem"] for each in found] == [True, True]
    assert {each["resources"]["limits"]["memory"] for each in found} == {"512Mi"}


@pytest.mark.parametrize("namespace", [NAMESPACE, "default"])
def test_its_pods_have_these_rights_and_no_others(
    service: RestRelease, nodes: ControlPlane, namespace: str
) -> None:
    """As the API server answers to the token in the pod."""
    [pid, *_] = [each.pid for each in service.endpoints()]
    admin = nodes.api.access
    token = Path(f"/proc/{pid}/root/{TOKEN}").read_text()
    api = Api(Access(admin.kubeconfig, admin.url, admin.authority, token=token))
    rules = api.create(REVIEWS, {"spec": {"namespace": namespace}})["status"]["resourceRules"]
    api.hang_up()
    found = sorted(
        (each["resources"], each["verbs"], each.get("resourceNames", []))
        for each in rules
        if set(each["apiGroups"]) not in EVERYBODYS
    )
    followed = (["miniclusters"], ["list", "watch"], [])
    key = (["secrets"], ["get"], ["minicluster-jobs"])
    assert found == ([followed, key] if namespace == NAMESPACE else [followed])


def test_jobs_by_https_make_a_minicluster_grow_and_each_completes_once(
    user: RestUser, live: Live, nodes: ControlPlane, tmp_path: Path
) -> None:
    """Twelve jobs on one broker: it becomes four, and one again; output comes back."""
    scaling = {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
    ledger = Ledger.created(live, nodes, tmp_path / "ledger", **RANGE, autoscaling=scaling)
    name = served(user, live)
    with autoscalers.watching(nodes.api, live.namespace) as sizes:
        for command in commands(0, TWELVE):
            done = user("submit", name, "--", *command)
            assert done.returncode == 0, done.stderr
            ledger.ids.append(done.stdout.strip())
        everywhere(ledger)
        assert ledger.balance() == {}
        smallest(live)
    assert ledger.written().total() == len(TWELVE)
    assert (sizes.asked[0], max(sizes.asked), sizes.asked[-1]) == (1, 4, 1)
    done = user("submit", name, "--watch", "--", "echo", "hello")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["hello"]), (done.stdout, done.stderr)


def served(user: RestUser, live: Live) -> str:
    """Return the name by which the service has a MiniCluster, once it has it."""
    name = f"{live.namespace}.{live.name}"
    until(lambda: user("jobs", name).returncode == 0, f"{name} at the service", SECONDS)
    return name


def test_it_reaches_leads_and_is_reached_by_its_port_alone(
    service: RestRelease, nodes: ControlPlane, space: str
) -> None:
    """A pod elsewhere that has its label reaches no lead."""
    live = Live(nodes.api, space)
    live.create(interactive=True, size=1)
    with script_pods.space(nodes.api) as other:
        impostor = script_pods.pod("impostor", node_images.EMBEDDED, "sleep infinity")
        impostor["metadata"]["labels"]["app.kubernetes.io/name"] = REST_APPLICATION
        script_pods.create(nodes.api, other, impostor)
        script_pods.wait_running(nodes.api, other, "impostor")
        lead_name = live.pods.running(0)["metadata"]["name"]
        live.joined(1)
        found = reach.pods(nodes, space, other)
        lead, outside, [own, *_] = found[lead_name], found["impostor"], service.endpoints()
        connections = {
            "service to lead": own.dial(lead.address, LEAD_API_PORT),
            "service to broker": own.dial(lead.address, BROKER_PORT),
            "service to others": own.dial(outside.address, LEAD_API_PORT),
            "other to lead": outside.dial(lead.address, LEAD_API_PORT),
            "other to service": outside.dial(own.address, PORT),
            "other to health": outside.dial(own.address, HEALTH),
        }
    assert connections == {
        "service to lead": OPEN,
        "service to broker": REFUSED,
        "service to others": REFUSED,
        "other to lead": REFUSED,
        "other to service": OPEN,
        "other to health": REFUSED,
    }


def test_while_its_pods_are_replaced_jobs_come_in_and_output_goes_on(
    user: RestUser, service: RestRelease, nodes: ControlPlane, space: str, tmp_path: Path
) -> None:
    """One after the other, without a job or a line lost; the one that is followed moves to another pod."""
    live = Live(nodes.api, space)
    ledger = Ledger.created(live, nodes, tmp_path / "ledger", size=2)
    name, before = served(user, live), names(service)
    with user.begun("submit", name, "--watch", "--", "sh", "-c", COUNT) as (process, printed):
        printed.readline()  # its id
        completed = submitted_while(user, name, service)
        ledger.release()
        lines = printed.read().splitlines()
        assert process.wait(SECONDS) == 0
    assert completed > 0
    assert names(service).isdisjoint(before)
    assert lines == [*map(str, range(1, len(lines))), "end"]
    rows = json.loads(user("jobs", name, "--all", "--output", "json").stdout)
    assert [row["state"] for row in rows] == ["COMPLETED"] * (completed + 1)


def submitted_while(user: RestUser, name: str, service: RestRelease) -> int:
    """Submit jobs one after the other while all pods are replaced; return how many."""
    count = 0
    with ThreadPoolExecutor(1) as pool:
        restarting = pool.submit(service.restart)
        while not restarting.done():
            done = user("submit", name, "--wait", "--", "true")
            assert done.returncode == 0, done.stderr
            count += 1
        restarting.result()
    return count


def names(service: RestRelease) -> set[str]:
    """Name the pods that are ready."""
    return {each["metadata"]["name"] for each in service.pods()}


@pytest.fixture
def alone(prepared: RestRelease, nodes: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """One replica over SQLite, on a volume in this folder."""
    folder = tmp_path / "volume"
    folder.mkdir()
    folder.chmod(0o777)
    volumes, claim = "/api/v1/persistentvolumes", f"{rest_release.NAME}-database"
    nodes.api.create(volumes, volume(folder, claim))
    prepared.install(replicas=1, database__postgresql__secretName="")
    yield folder
    nodes.api.delete(f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{claim}")
    nodes.api.delete(f"{volumes}/{claim}")


def volume(folder: Path, claim: str) -> dict[str, Any]:
    """Return a volume for one claim."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(folder)},
        "claimRef": {"namespace": NAMESPACE, "name": claim},
    }
    return {"metadata": {"name": claim}, "spec": spec}


def test_one_replica_has_its_users_on_a_volume(
    prepared: RestRelease, alone: Path, nodes: ControlPlane
) -> None:
    """They are there when its process was killed; nobody else of the machine reads them."""
    with rest_users.client(prepared) as made:
        browser = Browser(made)
        browser.follow(prepared.admin_link())
        assert browser.is_logged_in()
        [endpoint] = prepared.endpoints()
        os.kill(endpoint.pid, signal.SIGKILL)
        until(lambda: restarts(nodes) == [1] and len(prepared.pods()) == 1, "it to serve again", SECONDS)
        assert browser.is_logged_in()
    modes = {
        each.name: each.stat().st_mode & 0o777 for each in (alone / "state", alone / "state" / "rest.db")
    }
    assert modes == {"state": 0o700, "rest.db": 0o600}


def restarts(nodes: ControlPlane) -> list[int]:
    """Return how often the container of each pod of the service was started again."""
    found = nodes.api.items(PODS, labelSelector=SELECTOR)
    states = [each["status"].get("containerStatuses") or [{}] for each in found]
    return [each[0].get("restartCount", 0) for each in states]
