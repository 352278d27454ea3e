"""Service accounts by the pages for admins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.restful.identity.service import within
from tests.restful.page.roles import browsers, csrf

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GOOD = {
    "name": "pipeline",
    "display": "",
    "role": "user",
    "days": "7",
    "scopes": ["jobs:read", "jobs:submit"],
}


def test_a_service_account_logs_in_with_its_secret_until_it_is_deleted(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root = found["root"]
            made = await root.fill("/admin/clients", "/admin/clients", **GOOD)
            assert made.status_code == 201
            secret = re.findall(r'readonly value="([^"]+)"', made.text)[1]
            grant = {"grant_type": "client_credentials", "client_id": "pipeline", "client_secret": secret}
            assert (await page.users.token(**grant)).json()["scope"] == "jobs:read jobs:submit"
            text = (await root.get("/admin/clients")).text
            assert secret not in text
            assert "jobs:read, jobs:submit" in text
            client = re.findall(r'name="client" value="(\w+)"', text)[0]
            longer = await root.send("/admin/clients/delete", csrf=await csrf(root), client=f"{client}0")
            assert longer.status_code == 404
            deleted = await root.fill("/admin/clients", "/admin/clients/delete")
            assert (deleted.status_code, deleted.headers["location"]) == (303, "/admin/clients")
            assert (await page.users.token(**grant)).is_error
            again = await root.send("/admin/clients/delete", csrf=await csrf(root), client=client)
            assert (again.status_code, "There is no such thing here." in again.text) == (404, True)
            log = [each for each, _ in await page.users.audit()]
            assert "client.create" in log
            assert "user.delete" in log

    within(test())


def test_service_accounts_are_shown_by_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restful.page.admin.clients.LIMIT", 1)

    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for name in ("build", "pipeline"):
                await found["root"].fill("/admin/clients", "/admin/clients", **{**GOOD, "name": name})
            first = (await found["root"].get("/admin/clients")).text
            assert 'href="/admin/clients?after=build">More service accounts' in first
            assert "From the first one" not in first
            second = (await found["root"].get("/admin/clients?after=build")).text
            assert '<th scope="row">pipeline</th>' in second
            assert '<a href="/admin/clients">From the first one</a>' in second
            assert "There are no more." in (await found["root"].get("/admin/clients?after=z")).text

    within(test())


WRONG = [
    ({"name": "A"}, 422, 'id="new-name-error">Needed is a name of a-z'),
    ({"name": "alice"}, 409, 'id="new-name-error">Is taken.'),
    ({"days": "x"}, 422, 'id="new-days-error">A whole number from 1 on is needed.'),
    ({"days": "9999"}, 422, 'id="new-days-error">A token lives for 365 days at most.'),
    ({"scopes": []}, 422, 'id="new-scopes-error">Choose one at least.'),
    ({"scopes": ["users:manage"]}, 422, 'id="new-scopes-error">Beyond what this login may do'),
    ({"scopes": ["<b>"]}, 422, 'id="new-scopes-error">There is no such scope: &#39;&lt;b&gt;&#39;.'),
    ({"role": "king"}, 422, 'id="new-role-error">Input should be'),
]


def test_a_service_account_is_refused_in_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for form, status, error in WRONG:
                given = {**GOOD, **form}
                answer = await found["root"].fill("/admin/clients", "/admin/clients", **given)
                assert (answer.status_code, error in answer.text) == (status, True), answer.text
                ticked = 'value="jobs:submit" checked' in answer.text
                assert ticked is ("jobs:submit" in given["scopes"])

    within(test())
