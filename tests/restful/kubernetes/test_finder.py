"""What the finder does where the database, or something else, fails meanwhile; and for owners that change."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.database import DatabaseAway
from minicluster.instance.errors import InstanceGone
from minicluster.kube_client.objects import Name
from restful.identity.identities import open_identities
from restful.identity.linked_users import find_or_make, name_from_provider
from restful.identity.master_key import MasterKey
from restful.identity.principal import Role
from restful.identity.settings import IdentitySettings
from restful.kubernetes import finder as module
from restful.kubernetes.finder import ClusterFinder
from restful.kubernetes.observed import MiniClusters
from restful.services import open_services
from restful.store import users
from restful.store.clusters import ClusterRow
from restful.store.users import UserKind, UserRecord, UserState
from tests.restful import databases
from tests.restful.jobs.service import FAST, within
from tests.restful.kubernetes.test_observed import item

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from minicluster.instance.port import Instance
    from restful.clusters.registry import Clusters
    from restful.identity.identities import Identities

ISSUER = "https://id.example"
NAME, PATH = Name("team-a", "lammps"), "team-a.lammps"


class NoLeads:
    """In place of leads."""

    def open(self, name: Name, uid: str) -> Instance:
        raise InstanceGone("nobody listens")


@contextlib.asynccontextmanager
async def working(
    folder: Path, *namespaces: str
) -> AsyncIterator[tuple[Clusters, MiniClusters, ClusterFinder]]:
    """Give a finder that works."""
    database = await databases.ready(folder / "rest.db")
    identities = open_identities(database, IdentitySettings(), time.time, MasterKey(b"m" * 32))
    services = open_services(database, b"m" * 32, identities.authority, identities, settings=FAST)
    found = MiniClusters(namespaces)
    finder = ClusterFinder(services, identities, found, NoLeads())  # type: ignore[arg-type]  # as far as used
    task = asyncio.create_task(finder.work())
    try:
        yield services.clusters, found, finder
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await services.clusters.close()
        await database.close()


async def until(fact: Any) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(30):
        while not fact():
            await asyncio.sleep(0.005)


def test_what_a_database_refuses_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_DELAY", 0.0)
    failures = [DatabaseAway("locked"), DatabaseAway("locked")]

    async def work() -> None:
        async with working(tmp_path) as (clusters, found, finder):
            real = clusters.add

            async def add(spec: Any) -> None:
                if failures:
                    raise failures.pop()
                await real(spec)

            monkeypatch.setattr(clusters, "add", add)
            found.see("MiniCluster", item())
            finder.changed(NAME)
            await until(lambda: clusters.get(PATH))

    within(work())
    assert caplog.text.count("MiniCluster team-a/lammps: locked; it is tried again") == 2


def test_a_defect_at_one_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with working(tmp_path) as (clusters, found, finder):
            real = clusters.add

            async def add(spec: Any) -> None:
                if spec.name == PATH:
                    raise ZeroDivisionError
                await real(spec)

            monkeypatch.setattr(clusters, "add", add)
            for name in ("lammps", "other"):
                found.see("MiniCluster", item(name))
                finder.changed(Name("team-a", name))
            await until(lambda: clusters.get("team-a.other"))

    within(work())
    assert "a defect: MiniCluster team-a/lammps is not served as it is" in caplog.text


def test_jobs_run_in_the_working_directory_of_their_minicluster(tmp_path: Path) -> None:
    """Without one it is /tmp, where everybody may write. Another one counts at once."""

    async def work() -> list[str]:
        async with working(tmp_path) as (clusters, found, finder):
            seen = []
            for containers, directory in (([{}], "/tmp"), ([{"workingDir": "/data"}], "/data")):
                found.see("MiniCluster", item(spec={"containers": containers}))
                finder.changed(NAME)
                await until(lambda directory=directory: _directory(clusters) == directory)
                seen.append(_directory(clusters))
            return seen

    assert within(work()) == ["/tmp", "/data"]


def _directory(clusters: Clusters) -> str:
    served = clusters.get(PATH)
    return "" if served is None else served.spec.base.cwd


def test_an_owner_that_is_no_user_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with working(tmp_path) as (clusters, found, finder):
            found.see("MiniCluster", item(annotations={"owner": "carol"}))
            finder.changed(NAME)
            await until(lambda: clusters.get(PATH))

    caplog.set_level("INFO")
    within(work())
    assert "its owner 'carol' is no user here: only who is granted it may use it" in caplog.text
    assert "is served as team-a.lammps, tenancy own" in caplog.text


OWNERS: dict[str, tuple[str, bool, str]] = {
    "whom an admin has made": ("alice", True, ""),
    "an account of the machine": ("pam#bob", True, ""),
    "its name": ("bob", True, ""),
    "a provider's subject": ("https://id.example#42", True, ""),
    "another one's subject": ("https://id.example#43", False, "is no user here: only who is granted it"),
    "of another provider": ("https://evil.example#42", False, "is no user here: only who is granted it"),
    "the name that mallory has chosen": ("carol", False, "its owner 'carol' is no user here"),
    "what she is called here": ("oidc:carol", False, "has chosen that name himself: name him by ISSUER#SUB"),
}


@pytest.mark.parametrize(("owner", "is_known", "words"), OWNERS.values(), ids=OWNERS)
def test_whom_an_owner_means(
    owner: str, is_known: bool, words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Mallory is called carol at her provider, where she may choose that: what is carol's is not hers."""

    async def work() -> bool:
        async with working(tmp_path) as (clusters, found, finder):
            await add_users(finder._identities)
            found.see("MiniCluster", item(annotations={"owner": owner}))
            finder.changed(NAME)
            await until(lambda: clusters.get(PATH))
            served = clusters.get(PATH)
            return served is not None and bool(served.spec.owner)

    assert within(work()) is is_known
    assert words in caplog.text


async def add_users(identities: Identities) -> None:
    """Make a user of this service, an account of the machine, and one who comes from a provider."""
    carol = name_from_provider(ISSUER, "42", "Carol")
    for issuer, subject, name in (("pam", "bob", "bob"), (ISSUER, "42", carol)):
        assert await find_or_make(identities, issuer, subject, name, "") is not None
    alice = UserRecord("01ALICE", "alice", UserKind.USER, Role.USER, UserState.ACTIVE, 0, time.time())
    async with identities.change() as connection:
        await users.add(connection, alice)


ROWS: dict[str, tuple[str, bool, tuple[str, bool] | None]] = {
    "of this machine": ("", True, None),
    "of a namespace that is not followed": ("team-b", True, None),
    "deleted": ("team-a", True, ("its MiniCluster was deleted", True)),
    "not known": ("team-a", False, ("the MiniClusters of its namespace are not known yet: no answer", False)),
}


@pytest.mark.parametrize(("namespace", "listed", "absence"), ROWS.values(), ids=ROWS)
def test_why_one_is_not_served(
    namespace: str, listed: bool, absence: tuple[str, bool] | None, tmp_path: Path
) -> None:
    async def work() -> Any:
        async with working(tmp_path, "team-a") as (_, found, finder):
            finder.failed("team-a", RuntimeError("no answer"))
            if listed:
                found.replace_all("MiniCluster", [], 1, "team-a")
            row = ClusterRow("C", f"{namespace}.x", namespace, "u1", "shared", "", "I", "", 0.0)
            return finder.absence(row)

    assert within(work()) == absence
