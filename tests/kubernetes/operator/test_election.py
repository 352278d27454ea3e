"""Two operators with one Lease: one works, the other takes over, and never do both write."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.devcluster import Api, ControlPlane, until
from tests.devcluster.audit import Request
from tests.kubernetes import meddler, operators
from tests.kubernetes.meddler import Answer, CutError, Meddler, Write
from tests.kubernetes.operators import ACCOUNT, LEASE, LED, SYSTEM, Operator, conditions, create, created

READS = {"get", "list", "watch"}
BURST, KILLED_AT = 100, 80
OBJECTS = ("jobs", "secrets", "configmaps", "services", "networkpolicies", "poddisruptionbudgets")


@dataclass
class Team:
    """Two operators, the first of which leads."""

    plane: ControlPlane
    leader: Operator
    standby: Operator
    identity: str
    begin: int

    def holder(self) -> str:
        """Return who holds the Lease."""
        return str(self.plane.api.get(LEASE)["spec"].get("holderIdentity") or "")

    def taken_over(self) -> None:
        """Wait until the standby leads."""
        until(lambda: self.holder() not in {"", self.identity}, "the standby to take over", 40)

    def writes(self) -> tuple[list[Request], list[Request]]:
        """Return what each of both has written, as the API server received it."""
        asked = [each for each in self.plane.requests(self.begin) if each.user == ACCOUNT]
        written = sorted(
            (each for each in asked if each.verb not in READS and each.resource),
            key=lambda each: each.received,
        )
        theirs = [each for each in written if f"({self.identity})" in each.agent]
        return theirs, [each for each in written if each not in theirs]


def lead(plane: ControlPlane, kubeconfig: Path, log: Path) -> Iterator[Team]:
    """Start an operator on its own way to the server, and when it leads a second one.

    A machine that stands still for the seconds of a Lease meanwhile has both begin again.
    """
    for last in (False, False, True):
        plane.api.delete(LEASE)
        begin = plane.audit_log.stat().st_size
        with operators.running(kubeconfig, log / "leader", *LED) as leader:
            identity = str(plane.api.get(LEASE)["spec"]["holderIdentity"])
            with operators.running(operators.account(plane), log / "standby", *LED) as standby:
                team = Team(plane, leader, standby, identity, begin)
                if last or team.holder() == identity:
                    yield team
                    return


@pytest.fixture
def team(plane: ControlPlane, tmp_path: Path) -> Iterator[Team]:
    """Two operators on the same API server."""
    yield from lead(plane, operators.account(plane), tmp_path)


@pytest.fixture
def proxy(plane: ControlPlane, tmp_path: Path) -> Iterator[Meddler]:
    """What stands between the leader and the API server."""
    operators.account(plane)
    access = plane.user(ACCOUNT, ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}"])
    with meddler.meddling(access, tmp_path / "kubeconfig") as found:
        yield found
        found.silent = False


@pytest.fixture
def apart(plane: ControlPlane, proxy: Meddler, tmp_path: Path) -> Iterator[Team]:
    """Two operators of which the leader can be cut off."""
    yield from lead(plane, proxy.kubeconfig, tmp_path)


def test_a_standby_is_ready_and_does_not_lead(team: Team) -> None:
    assert [each.get("/readyz")[0] for each in (team.leader, team.standby)] == [200, 200]
    assert [each.metric("minicluster_leader") for each in (team.leader, team.standby)] == [1, 0]


def test_a_leader_that_is_killed_in_a_burst(team: Team, api: Api, namespace: str) -> None:
    """The standby leads within 20 s and makes the rest; nothing is made twice; they never write in turns."""
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    for number in range(BURST):
        create(api, namespace, f"mc-{number:02}", size=1, maxSize=0)
        if number == KILLED_AT:
            until(lambda: len(api.items(jobs)) > BURST // 2, "the leader to make half of them")
            killed = datetime.now(UTC)
            team.leader.kill()

    def are_all_made() -> bool:
        items = api.items(operators.path(namespace))
        return all(conditions(each).get("ResourcesCreated") == ("True", "Created") for each in items)

    until(are_all_made, "the standby to finish", 60, interval=1)
    former, latter = team.writes()
    # What was under way at the kill may have been done, though the log has no 201 for it.
    made = [each for each in former + latter if each.code == 201 and each.resource in OBJECTS]
    assert set(Counter((each.resource, each.namespace, each.name) for each in made).values()) == {1}
    exist = Counter(each.partition("/")[0] for each in operators.owned(api, namespace))
    exist["configmaps"] -= 1  # that of their namespace
    exist["secrets"] -= BURST  # those with tokens
    assert {resource: exist[resource] for resource in OBJECTS} == dict.fromkeys(OBJECTS, BURST)
    assert former[-1].received < latter[0].received
    led, done = (
        (each - killed).total_seconds() for each in (latter[0].received, max(each.received for each in made))
    )
    print(f"the standby led {led:.1f} s after the kill, and had made everything after {done:.1f} s")
    assert led < 20


def test_a_leader_that_is_stopped(team: Team, api: Api, namespace: str) -> None:
    """It gives the Lease up and ends with 0; the standby has it at most 3 s later, and works."""
    create(api, namespace, "before")
    created(api, namespace, "before")
    assert team.leader.stop() == 0
    team.taken_over()
    create(api, namespace, "after")
    created(api, namespace, "after")
    former, latter = team.writes()
    assert former[-1].resource == latter[0].resource == "leases"
    assert latter[0].received - former[-1].received <= timedelta(seconds=3)
    assert conditions(operators.read(api, namespace, "before"))["ResourcesCreated"] == ("True", "Created")


def test_a_leader_that_is_stopped_amid_a_write(proxy: Meddler, apart: Team, api: Api, namespace: str) -> None:
    """It waits for the answer before it gives the Lease up: nobody's write comes after that."""

    def is_status(write: Write) -> bool:
        return write.path.endswith(f"/namespaces/{namespace}/miniclusters/mc/status")

    proxy.delay = lambda write: 1 if is_status(write) else 0
    proxy.begin()
    create(api, namespace, "mc")
    until(lambda: any(map(is_status, proxy.seen)), "a write that takes long")
    assert apart.leader.stop() == 0
    apart.taken_over()
    until(lambda: apart.writes()[1], "the standby's first write")
    former, latter = apart.writes()
    last = [each for each in former if each.resource != "leases"][-1]  # the Lease is renewed meanwhile
    assert (last.resource, last.subresource) == ("miniclusters", "status")
    assert former[-1].resource == "leases"
    assert last.received < former[-1].received
    assert former[-1].received < latter[0].received


def cut_off(proxy: Meddler) -> None:
    """Pass nothing on any more."""
    proxy.silent = True


def keep_the_lease_from_it(proxy: Meddler) -> None:
    """Pass on everything but what renews the Lease."""

    def plan(write: Write) -> Answer | None:
        if "/leases" in write.path:
            raise CutError(done=False)
        return None

    proxy.begin(plan)


@pytest.mark.parametrize("cut", [cut_off, keep_the_lease_from_it], ids=["everything", "the Lease only"])
def test_a_leader_that_cannot_renew_for_too_long(
    cut: Callable[[Meddler], None], proxy: Meddler, apart: Team, api: Api, namespace: str
) -> None:
    """It ends with 1 and says why; whatever it wrote, it wrote before the standby led."""
    cut(proxy)
    count = 0

    def has_ended() -> bool:
        nonlocal count
        create(api, namespace, f"mc-{count}", size=1, maxSize=0)
        count += 1
        return apart.leader.process.poll() is not None

    until(has_ended, "the leader to end", 30, interval=0.5)
    assert apart.leader.process.returncode == 1
    assert f"could not renew the Lease {SYSTEM}/minicluster-operator for 8 s" in apart.leader.text()
    apart.taken_over()
    proxy.silent = False
    for number in range(count):
        created(api, namespace, f"mc-{number}")
    former, latter = apart.writes()
    assert former[-1].received < latter[0].received
    # Where only the Lease was kept from it, it did work on up to its deadline.
    assert cut is cut_off or former[-1].resource != "leases"
