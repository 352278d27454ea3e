"""Each revision of the service's tables with rows in them, back and forth, on both kinds of database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from minicluster.database import downgrade, migrate, open_database, revise, versions
from restful import audit
from restful.audit import AuditEntry
from restful.identity.principal import Role
from restful.identity.scopes import GrantRole
from restful.store import clusters, groups, jobs, request_keys, users
from restful.store.groups import EVERY_CLUSTER, GrantRecord
from restful.store.jobs import JobRecord
from restful.store.schema import SCHEMA
from restful.store.users import UserKind, UserRecord, UserState
from tests.restful.clusters.test_ownership import CLUSTER, DONE_ROW
from tests.restful.identity.service import within

if TYPE_CHECKING:
    from pathlib import Path

FILLED = (
    users.USERS,
    groups.GRANTS,
    jobs.JOBS,
    clusters.CLUSTERS,
    request_keys.REQUEST_KEYS,
    audit.rows.AUDIT,
)
ALICE = UserRecord("U", "alice", UserKind.USER, Role.USER, UserState.ACTIVE, 0, 1.0, password=None)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/rest.db"
    return str(request.getfixturevalue("postgresql").database())


async def fill(url: str) -> None:
    """Write a row to each of FILLED."""
    database = await open_database(url, SCHEMA)
    async with database.write() as connection:
        await users.add(connection, ALICE)
        await groups.add_grant(connection, GrantRecord("G", EVERY_CLUSTER, GrantRole.USE, 1.0, ALICE.id))
        await clusters.add(connection, CLUSTER)
        await jobs.put(connection, [JobRecord("C", "I", 2**62, "U", "R", annotations='{"a": "\u00e4"}')])
        await request_keys.add(connection, [replace(DONE_ROW, key="k")])
        await audit.record(connection, AuditEntry("U", "", "192.0.2.1", "login", "user:U"), 1.0)
    await database.close()


async def counted(url: str) -> list[int]:
    """Return how many rows each of FILLED has; and the log, the chain of which must be whole."""
    database = await open_database(url, SCHEMA)
    async with database.read() as connection:
        found = [
            (await connection.execute(select(func.count()).select_from(each))).scalar_one() for each in FILLED
        ]
        assert await audit.first_broken(connection) is None
    await database.close()
    return found


def test_rows_survive_every_revision_back_and_forth(url: str) -> None:
    async def work() -> Any:
        await migrate(url, SCHEMA)
        await fill(url)
        found = [await counted(url)]
        for revision in versions.known(SCHEMA)[1:]:
            await downgrade(url, SCHEMA, revision)
            await migrate(url, SCHEMA)
            found.append(await counted(url))
        await downgrade(url, SCHEMA, "base")
        await migrate(url, SCHEMA)
        return found, await counted(url), await revise.differences(url, SCHEMA)

    found, afterwards, differences = within(work())
    assert set(map(tuple, found)) == {(1,) * len(FILLED)}
    assert (afterwards, differences) == ([0] * len(FILLED), [])
