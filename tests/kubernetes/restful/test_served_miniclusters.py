"""The service finds MiniClusters at a real API server, and serves them by real lead servers."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.database import migrate
from minicluster.lead_server import files
from minicluster.plan.objects.keys import Generations
from restful.clusters.spec import Tenancy
from restful.identity.scopes import GrantRole
from restful.kubernetes import finder, job_keys
from restful.store.schema import SCHEMA
from tests.conformance.laboratory import Laboratory
from tests.kubernetes import operators
from tests.kubernetes.restful import rights
from tests.kubernetes.restful.fleet import Fleet
from tests.kubernetes.restful.relay import Relay
from tests.kubernetes.restful.service import Found, following
from tests.restful import databases
from tests.restful.conftest import embedded, short_directory
from tests.restful.jobs.service import FAST, USERS, EveryoneUses, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.database.postgresql import Server
    from tests.devcluster import Api, ControlPlane

__all__ = ["embedded"]  # a fixture
RESUME = "its MiniCluster is suspended: `minicluster resume` starts it again"


@dataclass
class Team:
    """A namespace with MiniClusters, their leads, and an account with the rights of the service."""

    plane: ControlPlane
    namespace: str
    fleet: Fleet
    folder: Path
    user: str

    @property
    def secret(self) -> tuple[str, str]:
        """Where the keys are: as if this namespace were the operator's."""
        return self.namespace, "minicluster-jobs"

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.plane.api

    def path(self, name: str = "mc") -> str:
        """Return how the service calls a MiniCluster."""
        return f"{self.namespace}.{name}"

    def create(self, name: str = "mc", lead: Laboratory | None = None, **annotations: str) -> str:
        """Make a MiniCluster, with a lead perhaps, and return its UID."""
        document = {**operators.DOCUMENT, "metadata": {"name": name, "annotations": {
            f"minicluster.flux-framework.org/{key}": value for key, value in annotations.items()
        }}}  # fmt: skip
        uid = str(self.api.create(operators.path(self.namespace), document)["metadata"]["uid"])
        if lead is not None:
            self.fleet.start(uid, lead)
            self.phase("Running", name)
        return uid

    def phase(self, phase: str, name: str = "mc") -> None:
        """Have a MiniCluster be in a phase, as an operator writes it."""
        self.api.merge(operators.path(self.namespace, name, "status"), {"status": {"phase": phase}})

    def delete(self, name: str = "mc") -> None:
        """Delete a MiniCluster."""
        self.api.delete(operators.path(self.namespace, name))

    @contextlib.asynccontextmanager
    async def following(self, kubeconfig: Path | None = None, **more: Any) -> AsyncIterator[Found]:
        """Give a service for this namespace."""
        access = kubeconfig or rights.account(self.plane, self.user, self.namespace)
        given = {"namespaces": (self.namespace,), **more}
        async with following(self.folder, access, self.fleet, self.secret, **given) as found:
            yield found


@pytest.fixture
def team(
    plane: ControlPlane, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Team]:
    monkeypatch.setattr(job_keys, "RETRY_DELAY", 0.05)
    monkeypatch.setattr(finder, "OWNERS_INTERVAL", 0.1)
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    fleet = Fleet(tmp_path / "leads")
    fleet.publish(plane.api, namespace)
    yield Team(plane, namespace, fleet, tmp_path, f"rest-{secrets.token_hex(3)}")
    fleet.close()


@pytest.fixture(scope="module")
def other(embedded: Laboratory) -> Iterator[Laboratory]:
    """A second instance."""
    with short_directory() as folder:
        made = Laboratory("embedded", embedded.flux, folder / "other", reached="embedded")
        made.start()
        yield made
        made.stop()


def test_one_is_found_runs_jobs_and_goes(team: Team, embedded: Laboratory) -> None:
    """From its beginning to its deletion, with a suspension between."""

    async def work() -> None:
        path = team.path()
        async with team.following() as here:
            uid = await asyncio.to_thread(team.create)
            shown = await here.until(lambda each: "begins" in str(each.get("reason")), f"/{path}")
            assert shown["reason"].startswith(
                "its MiniCluster begins (phase not set): the lead API at 127.0.0.1:"
            )
            await asyncio.to_thread(team.fleet.start, uid, embedded)
            await asyncio.to_thread(team.phase, "Running")
            assert (await here.ready(path))["namespace"] == team.namespace
            jobid = await here.submit(path, "sh", "-c", "echo hello; pwd")
            await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{jobid}")
            assert (await here.ask("alice", "GET", f"/{path}/jobs/{jobid}/output")).text == "hello\n/tmp\n"
            await asyncio.to_thread(team.phase, "Suspended")
            await asyncio.to_thread(team.fleet.stop, uid)
            await here.until(lambda each: each.get("reason") == RESUME, f"/{path}")
            answer = await here.ask("alice", "GET", f"/{path}/nodes")
            assert (answer.status_code, answer.json()["detail"]) == (503, f"cluster {path}: {RESUME}")
            assert int(answer.headers["retry-after"]) >= 1
            await asyncio.to_thread(team.delete)
            await here.until(lambda each: each.get("state") == "gone", f"/{path}")
            listed = (await here.ask("alice", "GET", f"/{path}/jobs")).json()["jobs"]
            assert [each["id"] for each in listed if each["id"] == jobid] == [jobid]
            assert (await here.ask("alice", "GET", f"/{path}/jobs/{jobid}/output")).status_code == 410

    within(work())


def test_one_made_anew_under_its_name_is_another(team: Team, embedded: Laboratory, other: Laboratory) -> None:
    async def work() -> None:
        path = team.path()
        async with team.following() as here:
            first = await asyncio.to_thread(team.create, lead=embedded)
            await here.ready(path)
            old = await here.submit(path, "echo", "first")
            await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{old}")
            running = await here.submit(path, "sleep", "600")
            await asyncio.to_thread(team.delete)
            second = await asyncio.to_thread(team.create, lead=other)
            assert first != second

            def is_second() -> bool:
                served = here.services.clusters.get(path)
                return served is not None and served.spec.uid == second and served.caught_up.is_set()

            async with asyncio.timeout(60):
                while not is_second():
                    await asyncio.sleep(0.02)
            new = await here.submit(path, "echo", "second")
            await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{new}")
            assert (await here.ask("alice", "GET", f"/{path}/jobs/{new}/output")).text == "second\n"
            assert (await here.ask("alice", "GET", f"/{path}/jobs/{old}/output")).status_code == 410
            lost = await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{running}")
            assert lost["exception"]["type"] == "lost"

    within(work())
    embedded.run_line("flux cancel --all")


def test_while_the_api_server_is_away_what_is_known_goes_on(team: Team, embedded: Laboratory) -> None:
    async def work() -> None:
        one, two, three = (team.path(each) for each in ("one", "two", "three"))
        relay = Relay(rights.account(team.plane, team.user, team.namespace), team.folder)
        await asyncio.to_thread(team.create, "one", embedded)
        await asyncio.to_thread(team.create, "two")
        async with team.following(relay.kubeconfig) as here:
            await here.ready(one)
            relay.cut()
            await asyncio.to_thread(team.create, "three")
            await asyncio.to_thread(team.delete, "two")
            jobid = await here.submit(one, "true")
            await here.until(lambda each: each.get("state") == "INACTIVE", f"/{one}/jobs/{jobid}")
            assert (await here.ask("alice", "GET", f"/{three}")).status_code == 404
            relay.restore()
            await here.until(lambda each: each.get("state") == "away", f"/{three}")
            await here.until(lambda each: each.get("state") == "gone", f"/{two}")
        relay.cut()

    within(work())


def test_what_was_deleted_while_no_service_ran(team: Team, embedded: Laboratory) -> None:
    async def work() -> dict[str, Any]:
        path = team.path()
        await asyncio.to_thread(team.create, lead=embedded)
        async with team.following() as here:
            await here.ready(path)
            jobid = await here.submit(path, "sleep", "600")
            await here.until(lambda each: each.get("state") == "RUN", f"/{path}/jobs/{jobid}")
        await asyncio.to_thread(team.delete)
        async with team.following() as here:
            found = await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{jobid}")
            return dict(found)

    found = within(work())
    embedded.run_line("flux cancel --all")
    assert (found["result"], found["exception"]["type"]) == ("FAILED", "lost")


def test_before_anything_is_known_nothing_is_gone(team: Team, embedded: Laboratory) -> None:
    """The API server is away at the start: records are there, and the rest is answered with the reason."""

    async def work() -> None:
        path = team.path()
        await asyncio.to_thread(team.create, lead=embedded)
        relay = Relay(rights.account(team.plane, team.user, team.namespace), team.folder)
        async with team.following() as here:
            await here.ready(path)
            jobid = await here.submit(path, "true")
            await here.until(lambda each: each.get("state") == "INACTIVE", f"/{path}/jobs/{jobid}")
        relay.cut()
        async with team.following(relay.kubeconfig) as here:
            shown = await here.until(lambda each: "no answer" in str(each.get("reason")), f"/{path}")
            assert shown["state"] == "away"
            assert shown["reason"].startswith(
                "the MiniClusters of its namespace are not known yet: no answer"
            )
            assert (await here.ask("alice", "GET", f"/{path}/jobs/{jobid}")).json()["result"] == "COMPLETED"
            assert (await here.ask("alice", "GET", f"/{path}/nodes")).status_code == 503
            relay.restore()
            await here.ready(path)
        relay.cut()

    within(work())


def test_keys_that_were_replaced_are_read_again(team: Team, embedded: Laboratory) -> None:
    async def work() -> None:
        path, second = team.path(), Generations(jobs=2)
        uid = await asyncio.to_thread(team.create, lead=embedded)
        async with team.following() as here:
            await here.ready(path)
            await asyncio.to_thread(team.fleet.publish, team.api, team.namespace, second)
            await asyncio.to_thread(team.fleet.renew, uid, second)
            server = team.fleet.leads[uid].server
            served = here.services.clusters.get(path)
            assert served is not None
            former = served.connection.present()
            await asyncio.to_thread(server.connections.hang_up_all)  # as a lead does a minute later
            async with asyncio.timeout(60):
                while served.connection._instance in {former, None}:
                    await asyncio.sleep(0.02)
            await here.ready(path)
            await here.submit(path, "true")

    within(work())


def test_a_namespace_without_the_right_is_named(
    team: Team, embedded: Laboratory, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are served all the same."""

    async def work() -> None:
        path, closed = team.path(), "kube-public"
        kubeconfig = rights.account(team.plane, team.user, team.namespace, (team.namespace,))
        await asyncio.to_thread(team.create, lead=embedded)
        async with team.following(kubeconfig, namespaces=(closed, team.namespace)) as here:
            await here.ready(path)
            async with asyncio.timeout(60):
                while "not followed" not in caplog.text:
                    await asyncio.sleep(0.02)

    within(work())
    assert (
        "MiniClusters of namespace kube-public are not followed now: 403 Forbidden:"
        f' miniclusters.flux-framework.org is forbidden: User "{team.user}" cannot list resource'
        in caplog.text
    )


def test_somebodys_own_is_for_a_user_who_is_there(team: Team, embedded: Laboratory) -> None:
    """Until then, and for others, a grant for all clusters is none for it."""
    uses = {"*": frozenset({GrantRole.USE})}
    grants = EveryoneUses({each.user: uses for each in USERS.values()})

    async def work() -> None:
        path = team.path()
        await asyncio.to_thread(team.create, lead=embedded, tenancy="own", owner="alice")
        async with team.following(grants=grants) as here:
            assert (await here.ready(path, "root"))["owner"] is None
            assert (await here.ask("alice", "GET", f"/{path}")).status_code == 404
            await here.add_user("alice")
            shown = await here.until(lambda each: each.get("state") == "ready", f"/{path}")
            assert (shown["tenancy"], shown["owner"]) == ("own", USERS["alice"].user)
            assert (await here.ask("bob", "GET", f"/{path}")).status_code == 404

    within(work())


def test_the_default_is_for_those_that_state_nothing(team: Team, embedded: Laboratory) -> None:
    async def work() -> list[str]:
        await asyncio.to_thread(team.create, "a")
        await asyncio.to_thread(team.create, "b", tenancy="shared")
        async with team.following(tenancy=Tenancy.OWN) as here:
            return [
                (await here.until(lambda each: "tenancy" in each, f"/{team.path(name)}", "root"))["tenancy"]
                for name in ("a", "b")
            ]

    assert within(work()) == ["own", "shared"]


def test_of_two_replicas_each_serves_and_one_writes_down_the_jobs(
    team: Team, embedded: Laboratory, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one goes on with that when the first one ends; a MiniCluster that goes is gone for both."""
    path, url = team.path(), postgresql.database()
    monkeypatch.setattr(databases, "POSTGRESQL", url)
    settings = replace(FAST, clusters=replace(FAST.clusters, lease_seconds=2.0))
    serve = partial(team.following, settings=settings)

    async def work() -> None:
        await migrate(url, SCHEMA)
        uid = await asyncio.to_thread(team.create, lead=embedded)
        async with contextlib.AsyncExitStack() as first, serve() as second:
            one = await first.enter_async_context(serve())
            for each in (one, second):
                await each.until(lambda shown: shown.get("state") == "ready", f"/{path}")
            await until_one(one, second, path)
            jobid = await second.submit(path, "sh", "-c", "echo begun; sleep 600")
            shown = await one.until(lambda job: job.get("state") == "RUN", f"/{path}/jobs/{jobid}")
            assert shown["owner"] == USERS["alice"].user
            for each in (one, second):
                stream = f"/{path}/jobs/{jobid}/output?follow=false"
                assert (await each.ask("alice", "GET", stream)).text == "begun\n"
            await first.aclose()
            await second.ready(path)
            await second.ask("alice", "POST", f"/{path}/jobs/{jobid}/cancel", json={})
            ended = await second.until(lambda job: job.get("state") == "INACTIVE", f"/{path}/jobs/{jobid}")
            assert ended["result"] == "CANCELED"
            await asyncio.to_thread(team.fleet.stop, uid)
            await asyncio.to_thread(team.delete)
            await second.until(lambda each: each.get("state") == "gone", f"/{path}")

    within(work())


async def until_one(one: Found, other: Found, path: str) -> None:
    """Wait until one replica writes down the jobs of a cluster, and see that not both do."""
    async with asyncio.timeout(60):
        while True:
            served = [each.services.clusters.get(path) for each in (one, other)]
            writing = [each is not None and each.caught_up.is_set() for each in served]
            assert writing != [True, True]
            if any(writing):
                return
            await asyncio.sleep(0.02)
