"""Groups and grants by the pages for admins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.restful.identity.service import within
from tests.restful.page.admin.test_users import stored
from tests.restful.page.roles import browsers, csrf

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.page.service import Browser

HOSTILE = "<img src=x onerror=alert(1)>"


async def made(browser: Browser, name: str) -> str:
    """Make a group, and return the path of its page."""
    answer = await browser.fill("/admin/groups", "/admin/groups", name=name)
    assert answer.status_code == 303, answer.text
    path: str = answer.headers["location"]
    return path


def test_a_group_gets_members_and_loses_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root = found["root"]
            path = await made(root, "physics")
            assert "It has none." in (await root.get(path)).text
            added = await root.fill(path, f"{path}/add", name="alice")
            assert (added.status_code, added.headers["location"]) == (303, path)
            text = (await root.get(path)).text
            assert '<th scope="row">alice</th>' in text
            alice = await stored(page, "alice")
            assert "physics</a>" in (await root.get(f"/admin/users/{alice.id}")).text
            removed = await root.fill(path, f"{path}/remove")
            assert (removed.status_code, removed.headers["location"]) == (303, path)
            again = await root.send(f"{path}/remove", csrf=await csrf(root), user=alice.id)
            assert again.status_code == 404
            unsure = await root.fill(path, f"{path}/delete")
            assert "Tick the box: this cannot be undone." in unsure.text
            deleted = await root.fill(path, f"{path}/delete", sure="yes")
            assert (deleted.status_code, deleted.headers["location"]) == (303, "/admin/groups")
            gone = await root.get(path)
            assert (gone.status_code, "There is no such group." in gone.text) == (404, True)
            assert [each for each, _ in await page.users.audit()] == [
                "group.create", "group.add", "group.remove", "group.delete",
            ]  # fmt: skip

    within(test())


def test_what_is_wrong_with_a_group_is_beside_its_field(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            root = found["root"]
            path = await made(root, "physics")
            for action, name, status, error in (
                ("/admin/groups", "physics", 409, 'id="new-name-error">Is taken.'),
                ("/admin/groups", "Ä", 422, 'id="new-name-error">Needed is a name of a-z'),
                (f"{path}/add", "bob", 422, 'id="add-name-error">There is no user &#39;bob&#39;.'),
                (f"{path}/add", HOSTILE, 422, 'id="add-name-error">There is no user &#39;&lt;img'),
            ):
                answer = await root.fill(path if "add" in action else action, action, name=name)
                assert (answer.status_code, error in answer.text) == (status, True), answer.text
                assert HOSTILE not in answer.text

    within(test())


def test_a_grant_is_made_and_taken_back(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root = found["root"]
            await made(root, "physics")
            for form, shown in (
                ({"subject": "user", "name": "alice", "role": "use"}, "alice</th>"),
                ({"subject": "group", "name": "physics", "role": "operate"}, "group physics</th>"),
            ):
                answer = await root.fill("/admin/grants", "/admin/grants", cluster="*", **form)
                assert (answer.status_code, answer.headers["location"]) == (303, "/admin/grants")
                assert shown in (await root.get("/admin/grants")).text
            text = (await root.get("/admin/grants")).text
            ids = re.findall(r'name="grant" value="(\w+)"', text)
            assert len(ids) == 4
            token = await csrf(root)
            taken = await root.send("/admin/grants/delete", csrf=token, grant=ids[-1])
            assert (taken.status_code, taken.headers["location"]) == (303, "/admin/grants")
            again = await root.send("/admin/grants/delete", csrf=token, grant=ids[-1])
            assert (again.status_code, "There is no such thing here." in again.text) == (404, True)
            assert [each for each, _ in await page.users.audit()] == [
                "group.create", "grant.create", "grant.create", "grant.delete",
            ]  # fmt: skip

    within(test())


WRONG = [
    ({"subject": "user", "name": "bob"}, 422, 'id="new-name-error">There is no user &#39;bob&#39;.'),
    ({"subject": "group", "name": "x"}, 422, 'id="new-name-error">There is no group &#39;x&#39;.'),
    ({"subject": "king"}, 422, 'id="new-subject-error">Choose one of them.'),
    ({"name": "alice"}, 422, 'id="new-name-error">Everyone has no name: leave it empty'),
    ({"cluster": "a b"}, 422, 'id="new-cluster-error">Needed is the name of a cluster, or * for all'),
    ({"role": "own"}, 422, 'id="new-role-error">Input should be &#39;use&#39; or &#39;operate&#39;.'),
    ({}, 409, "There is such a grant already, or no such user or group."),
]


def test_a_grant_is_refused_in_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for form, status, error in WRONG:
                given = {"cluster": "*", "role": "use", "subject": "everyone", "name": "", **form}
                answer = await found["root"].fill("/admin/grants", "/admin/grants", **given)
                assert (answer.status_code, error in answer.text) == (status, True), answer.text

    within(test())
