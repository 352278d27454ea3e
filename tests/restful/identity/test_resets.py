"""What of a user's tokens is left when his password is reset or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, bearer, within
from tests.restful.page.roles import browsers, csrf

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "another good password"


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param({}, 401, id="as a rule"),
        pytest.param({"keep_tokens": True}, 200, id="kept on purpose"),
    ],
)
def test_a_password_of_an_admin_revokes_personal_tokens(
    tmp_path: Path, more: dict[str, Any], status: int
) -> None:
    """Who had the old one may have made some."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            await here.ensure_admin("root")
            root = await here.headers("root")
            body = {"password": OTHER, **more}
            changed = await here.client.patch(f"/v2/users/{alice.id}", json=body, headers=root)
            assert changed.status_code == 200
            return (await here.client.get("/v2/me", headers=bearer(token))).status_code

    assert within(work()) == status


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param({}, 200, id="as a rule"),
        pytest.param({"revoke_tokens": True}, 401, id="revoked as well"),
    ],
)
def test_a_new_password_of_ones_own_leaves_personal_tokens(
    tmp_path: Path, more: dict[str, Any], status: int
) -> None:
    """Programs go on, unless one says that somebody else has known the old one."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            body = {"current": PASSWORD, "new": OTHER, **more}
            headers = await here.headers("alice")
            assert (await here.client.patch("/v2/me/password", json=body, headers=headers)).status_code == 204
            return (await here.client.get("/v2/me", headers=bearer(token))).status_code

    assert within(work()) == status


@pytest.mark.parametrize(
    ("form", "status", "words"),
    [
        pytest.param({}, 401, "His personal tokens are revoked.", id="as a rule"),
        pytest.param({"keep_tokens": "yes"}, 200, "His personal tokens are kept.", id="kept on purpose"),
    ],
)
def test_a_reset_by_the_page_revokes_personal_tokens(
    tmp_path: Path, form: dict[str, str], status: int, words: str
) -> None:
    async def work() -> Any:
        async with browsers(tmp_path) as (page, found):
            token = (await page.users.personal("alice", "jobs:read"))["token"]
            me = (await page.users.client.get("/v2/me", headers=bearer(token))).json()["id"]
            root = found["root"]
            made = await root.send(f"/admin/users/{me}/reset", csrf=await csrf(root), **form)
            assert words in made.text
            return (await page.users.client.get("/v2/me", headers=bearer(token))).status_code

    assert within(work()) == status


@pytest.mark.parametrize(("form", "status"), [({}, 200), ({"revoke_tokens": "yes"}, 401)])
def test_a_change_by_the_page_revokes_personal_tokens_if_that_is_ticked(
    tmp_path: Path, form: dict[str, str], status: int
) -> None:
    async def work() -> Any:
        async with browsers(tmp_path) as (page, found):
            token = (await page.users.personal("alice", "jobs:read"))["token"]
            given = {"current": PASSWORD, "new": OTHER, "again": OTHER, **form}
            answer = await found["alice"].fill("/account", "/password", **given)
            assert answer.status_code == 303, answer.text
            return (await page.users.client.get("/v2/me", headers=bearer(token))).status_code

    assert within(work()) == status
