"""The audit log by the pages for admins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import text

from restful.audit import AuditEntry
from tests.restful.identity.service import START, within
from tests.restful.page.roles import browsers

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.restful.page.service import Page

HOSTILE = "<img src=x onerror=alert(1)>"


async def fill(page: Page, count: int) -> None:
    """Add rows: the first a day before the others."""
    page.users.clock.time = START - 86_400
    for number in range(count):
        entry = AuditEntry("", "", "192.0.2.9", "login", f"user:{HOSTILE}", "denied", f"number={number}")
        await page.users.identities.record(entry)
        page.users.clock.time = START


def numbers(answer: str) -> list[int]:
    """Return the numbers of the rows that a page shows."""
    return [int(each) for each in re.findall(r'<th scope="row">(\d+)</th>', answer)]


def test_it_is_shown_by_pages_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restful.page.admin.audit_log.LIMIT", 5)

    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            await fill(page, 8)
            first = (await found["root"].get("/admin/audit")).text
            assert numbers(first) == [8, 7, 6, 5, 4]
            assert HOSTILE not in first
            older = first.partition('href="/admin/audit?')[2].partition('"')[0]
            second = (await found["root"].get(f"/admin/audit?{older}")).text
            assert numbers(second) == [3, 2, 1]
            assert "Older ones" not in second

    within(test())


FILTERS = [
    ("action=login", 3),
    ("action=user.create", 0),
    ("since=2027-01-15", 2),
    ("until=2027-01-14", 1),
    ("since=2027-01-14&until=2027-01-15", 3),
    ("user=root", 0),
    ("user=01ARZ3NDEKTSV4RRFFQ69G5FAV", 0),
    ("action=%00login", 3),
]


def test_it_is_filtered(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            await fill(page, 3)
            for query, count in FILTERS:
                answer = await found["root"].get(f"/admin/audit?{query}")
                assert (query, answer.status_code, len(numbers(answer.text))) == (query, 200, count)
                assert ("There is nothing of this kind." in answer.text) is (count == 0)

    within(test())


WRONG = [
    ("user=bob", 'id="audit-user-error">There is no user &#39;bob&#39;.'),
    ("since=today", 'id="audit-since-error">Needed is a day, such as 2026-01-31.'),
    ("until=2026-02-30", 'id="audit-until-error">Needed is a day, such as 2026-01-31.'),
]


def test_a_filter_is_refused_in_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for query, error in WRONG:
                answer = await found["root"].get(f"/admin/audit?{query}")
                assert (answer.status_code, error in answer.text) == (422, True), answer.text

    within(test())


def test_whether_it_is_whole(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            await fill(page, 3)
            good = (await found["root"].get("/admin/audit/check")).text
            assert "It is whole</h2>" in good
            assert "Each of its 3 rows follows from the one before." in good
            async with page.users.identities.database.write() as connection:
                await connection.execute(text("UPDATE audit SET detail = 'x' WHERE id = 2"))
            bad = (await found["root"].get("/admin/audit/check")).text
            assert "It is not whole</h2>" in bad
            assert "Row 2 was changed, or is missing." in bad

    within(test())
