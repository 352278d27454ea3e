"""What jobs have used, as the page shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restful.identity.principal import Role
from restful.jobs.usage_report import EVERYBODY
from restful.store import usage, users
from restful.store.usage import DAY, Charge
from tests.restful.identity.service import START, bearer, within
from tests.restful.jobs.service import spec_of
from tests.restful.page.roles import browsers, enter

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.laboratory import Laboratory
    from tests.restful.page.service import Page

TODAY = int(START // DAY)


async def charge(
    page: Page, name: str, *days_and_hours: tuple[int, float], cluster: str = "01CLUSTER"
) -> str:
    """Note what a user's jobs used so many days ago; return his id."""
    async with page.users.identities.database.write() as connection:
        user = await users.by_name(connection, name)
        assert user is not None
        charges = [Charge(user.id, TODAY - ago, hours * 3600, hours * 7200) for ago, hours in days_and_hours]
        await usage.add(connection, cluster, charges)
    return user.id


def rows(text: str, table: int) -> list[list[str]]:
    """Return the cells of a page's table that have numbers, by row."""
    body = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)[table]
    return [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in body.split("</tr>")[:-1]
    ]


def test_ones_own_use_by_day(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            await charge(page, "alice", (0, 1.5), (1, 12), (31, 5))
            await charge(page, "root", (0, 100))
            text = (await found["alice"].get("/usage")).text
            assert "13.5 node-hours in 30 days." in text
            by_day = rows(text, -1)
            assert len(by_day) == 30
            assert [each[1:] for each in by_day[:3]] == [["1.5", "3"], ["12", "24"], ["0", "0"]]
            assert '<rect class="part" x=' in text
            assert "12 node-hours</title>" in text
            assert "By user" not in text
            week = (await found["alice"].get("/usage?days=7")).text
            assert len(rows(week, -1)) == 7
            assert "18.5 node-hours in 90 days." in (await found["alice"].get("/usage?days=90")).text
            assert "in 30 days." in (await found["alice"].get("/usage?days=1000000")).text

    within(test())


def test_the_api_counts_the_same_days(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            await charge(page, "alice", (0, 1), (29, 2), (30, 4))
            token = (await page.users.personal("alice", "jobs:read"))["token"]
            answer = await page.users.client.get("/v2/usage", headers=bearer(token))
            assert [each["node_seconds"] for each in answer.json()["usage"]] == [2 * 3600, 3600]
            assert "3 node-hours in 30 days." in (await found["alice"].get("/usage")).text

    within(test())


def test_an_admin_sees_it_by_user(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            alice = await charge(page, "alice", (0, 1.5))
            await charge(page, "root", (3, 6))
            text = (await found["root"].get("/usage")).text
            assert [each[:2] for each in rows(text, -1)] == [["root", "6"], ["alice", "1.5"]]
            assert 'width="25.00%"' in text
            theirs = (await found["root"].get(f"/usage?user={alice}")).text
            assert "Usage of alice</h1>" in theirs
            assert "1.5 node-hours in 30 days." in theirs
            everybody = (await found["root"].get(f"/usage?user={EVERYBODY}")).text
            assert "Usage of everybody</h1>" in everybody
            assert "7.5 node-hours in 30 days." in everybody

    within(test())


def test_others_use_is_not_for_users(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root = await charge(page, "root", (0, 1))
            for whose in (root, EVERYBODY, "0" * 26):
                answer = await found["alice"].get(f"/usage?user={whose}")
                assert answer.status_code == 403
                assert "User: others&#39; use needs the scope jobs:read:all." in answer.text

    within(test())


def test_an_operator_knows_of_others_where_he_operates(embedded: Laboratory, tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path, spec_of(embedded)) as (page, found):
            await charge(page, "alice", (0, 1), cluster=page.services.clusters.get("mc").id)  # type: ignore[union-attr]
            await charge(page, "alice", (0, 2), cluster="01FORMER")
            for name, query, words in (
                ("olga", "user=*", "1 node-hours in 30 days."),
                ("olga", "user=*&cluster=mc", "1 node-hours in 30 days."),
                ("root", "user=*", "3 node-hours in 30 days."),
                ("alice", "cluster=mc", "1 node-hours in 30 days."),
                ("alice", "", "3 node-hours in 30 days."),
            ):
                assert words in (await found[name].get(f"/usage?{query}")).text
            other = await page.users.add_user("otto", Role.OPERATOR)
            await enter(page, found["nobody"], other)
            assert ">0 node-hours in 30 days." in (await found["nobody"].get("/usage?user=*")).text
            denied = await found["nobody"].get("/usage?user=*&cluster=mc")
            assert denied.status_code == 403
            assert "use needs the scope jobs:read:all." in denied.text

    within(test())


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for query in ("cluster=absent", "cluster=%3Cb%3E"):
                answer = await found["alice"].get(f"/usage?{query}")
                assert answer.status_code == 404
                assert "There is no cluster" in answer.text

    within(test())
