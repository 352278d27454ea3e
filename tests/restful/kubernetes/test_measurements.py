"""What Prometheus reads of a replica, that the page lists it, and what probes are answered."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from minicluster.database import DatabaseAway
from minicluster.instance.errors import InstanceGone
from restful.cli.errors import ServeError
from restful.clusters.spec import ClusterSpec
from restful.errors import HttpProblem
from restful.front.request_log import AnsweredRequest
from restful.identity import logins
from restful.identity.identities import open_identities
from restful.identity.master_key import MasterKey
from restful.identity.passwords import Passwords
from restful.identity.settings import IdentitySettings
from restful.kubernetes import measurements as module
from restful.kubernetes.measurements import RestMeasurements
from restful.kubernetes.probes import ProbeServer
from restful.services import open_services
from tests.restful import databases
from tests.restful.identity import service as users
from tests.restful.jobs.service import within

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

PAGE = (Path(__file__).parents[3] / "docs" / "rest-on-kubernetes.md").read_text()


def away() -> Instance:
    """Connect to nothing."""
    raise InstanceGone("is away")


@pytest.mark.parametrize("name", module.NAMES)
def test_the_page_lists_it(name: str) -> None:
    assert f"| `{name}` |" in PAGE


def test_a_scrape_has_all_of_them(tmp_path: Path) -> None:
    async def work() -> str:
        made = RestMeasurements()
        made.answered(AnsweredRequest("GET", "/v2/clusters", 200, 0.02))
        made.requested("GET", None)
        made.logged_in("denied")
        database = await databases.ready(tmp_path / "rest.db")
        settings = IdentitySettings(argon2_memory=8, argon2_passes=1)
        identities = open_identities(database, settings, time.time, MasterKey(b"m" * 32))
        services = open_services(database, b"m" * 32, identities.authority, identities)
        await services.clusters.start([ClusterSpec("team.a", away), ClusterSpec("team.b", away)])
        made.serve(services, identities)
        text = made.scrape()[0].decode()
        await services.clusters.close()
        await database.close()
        return text

    text = within(work())
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples[module.REQUESTS, "/v2/clusters", "200", "GET"] == 1
    assert samples[f"{module.DURATION}_sum", "/v2/clusters"] == 0.02
    assert samples[module.CLUSTERS, "away"] == 2
    assert samples[module.CLUSTERS, "ready"] == 0
    assert [samples[module.LOGINS, each] for each in logins.OUTCOMES] == [0, 1, 0, 0]
    assert samples[module.API_REQUESTS, "GET", "none"] == 1
    assert {samples[(each,)] for each in (module.STREAMS, module.PROJECTIONS, module.HASHES)} == {0}
    shown = {name.removesuffix("_sum") for name, *_ in samples}
    assert set(module.NAMES) <= shown


def test_logins_are_counted_by_how_they_end(tmp_path: Path) -> None:
    counted: list[str] = []

    async def work() -> None:
        async with users.opened(tmp_path) as service:
            await service.add_user("alice")
            passwords = Passwords(replace(users.SETTINGS, argon2_waiting=0))
            identities = replace(service.identities, observe=counted.append, passwords=passwords)
            caller = users.Caller(users.ADDRESS, "")
            for password in (users.PASSWORD, "wrong"):
                await logins.authenticate(identities, "alice", password, caller)

            async def again_and_again() -> None:
                for _ in range(20):
                    await logins.authenticate(identities, "alice", "wrong", caller)

            with pytest.raises(HttpProblem, match="too-many-requests"):
                await again_and_again()
            async with identities.passwords.slot(), identities.passwords.slot():
                assert identities.passwords.under_way == 2
                with pytest.raises(HttpProblem, match="busy"):
                    await logins.authenticate(identities, "alice", "wrong", caller)

    within(work())
    assert list(dict.fromkeys(counted)) == list(logins.OUTCOMES)


class Broken:
    """A database that is away."""

    def read(self) -> object:
        raise DatabaseAway("postgresql://rest@db/rest: no answer")


def test_probes_and_metrics(tmp_path: Path) -> None:
    async def work() -> list[tuple[str, int, str]]:
        server = ProbeServer(RestMeasurements())
        found: list[tuple[str, int, str]] = []
        async with server.serving(("127.0.0.1", 0)) as (host, port), aiohttp.ClientSession() as session:

            async def ask(path: str, method: str = "GET") -> None:
                async with session.request(method, f"http://{host}:{port}{path}") as answer:
                    found.append((path, answer.status, (await answer.text())[:60]))

            await ask("/readyz")
            server.database = await databases.ready(tmp_path / "rest.db")
            await ask("/readyz")
            await server.database.close()
            server.database = Broken()  # type: ignore[assignment]  # as far as it is used
            for path in ("/readyz", "/healthz", "/v2/clusters"):
                await ask(path)
            await ask("/healthz", "POST")
            with pytest.raises(ServeError, match=f"--metrics-listen 127.0.0.1:{port}: .*in use"):
                async with ProbeServer(RestMeasurements()).serving((host, port)):
                    pass
        return found

    assert within(work()) == [
        ("/readyz", 503, "the service is being started\n"),
        ("/readyz", 200, "ok\n"),
        ("/readyz", 503, "the database cannot be used now\n"),
        ("/healthz", 200, "ok\n"),
        ("/v2/clusters", 404, "there is nothing at this path\n"),
        ("/healthz", 405, "only GET is right here\n"),
    ]
