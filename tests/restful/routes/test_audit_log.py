"""Reading the audit log."""

from pathlib import Path
from typing import Any

import pytest

from restful import audit
from restful.audit import AuditEntry
from restful.store.audit import AUDIT
from tests.restful.identity import service
from tests.restful.identity.service import Service, within


async def filled(here: Service) -> dict[str, str]:
    """Record five entries, a minute apart, and return the header of an admin."""
    async with here.identities.database.write() as connection:
        for number in range(5):
            sent = AuditEntry(f"user{number % 2}", "", "", f"action{number % 3}", f"o{number}")
            await audit.record(connection, sent, here.clock() + 60 * number)
    await here.ensure_admin("root")
    return await here.headers("root")


@pytest.mark.parametrize(
    ("query", "objects"),
    [
        pytest.param({"actor": "user1"}, ["o3", "o1"], id="actor"),
        pytest.param({"action": "action0"}, ["o3", "o0"], id="action"),
        pytest.param({"until": "2027-01-15T08:02:00Z", "actor": "user0"}, ["o0"], id="until"),
        pytest.param({"since": "2027-01-15T08:03:00Z"}, ["o4", "o3"], id="since"),
        pytest.param({"before": 3}, ["o1", "o0"], id="before"),
        pytest.param({"before": 6, "limit": 2}, ["o4", "o3"], id="limit"),
    ],
)
def test_what_is_found(tmp_path: Path, query: dict[str, Any], objects: list[str]) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            headers = await filled(here)
            return (await here.client.get("/v2/audit", params=query, headers=headers)).json()

    assert [each["object"] for each in within(work())["entries"]] == objects


def test_pages_have_every_row_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            headers, found, query = await filled(here), [], {"limit": 2}
            while True:
                page = (await here.client.get("/v2/audit", params=query, headers=headers)).json()
                found += [each["id"] for each in page["entries"]]
                if page["before"] is None:
                    return found
                query["before"] = page["before"]

    assert within(work()) == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("broken", [None, 3])
def test_the_chain_is_checked(tmp_path: Path, broken: int | None) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            headers = await filled(here)
            async with here.identities.database.write() as connection:
                await connection.execute(AUDIT.update().where(AUDIT.c.id == broken).values(actor="x"))
            return (await here.client.get("/v2/audit/check", headers=headers)).json()

    assert within(work()) == {"whole": broken is None, "first_broken": broken}
