"""Users by the pages for admins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from restful.identity.principal import Role
from restful.store import users
from restful.store.users import UserState
from tests.restful.identity.service import PASSWORD, within
from tests.restful.page.roles import browsers, csrf, enter

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

    from restful.store.users import UserRecord
    from tests.restful.page.service import Browser, Page

HOSTILE = "<img src=x onerror=alert(1)>"
LAST = "This is the last active admin: make another one first."


async def stored(page: Page, name: str) -> UserRecord:
    """Return a user as stored."""
    async with page.users.identities.database.read() as connection:
        found = await users.by_name(connection, name)
    assert found is not None
    return found


async def act(browser: Browser, user: UserRecord, what: str, **form: str) -> httpx2.Response:
    """Send one of the forms of a user's page."""
    return await browser.send(f"/admin/users/{user.id}/{what}", csrf=await csrf(browser), **form)


def link_in(text: str) -> str:
    """Return the path of the link that a page shows."""
    found = re.search(r'value="https://mc\.example(/login/link\?token=mcl_\w+)"', text)
    assert found is not None, text
    return found[1]


def test_a_user_is_made_and_let_in(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            root, anna = found["root"], found["nobody"]
            answer = await root.fill(
                "/admin/users", "/admin/users", name="anna", display=HOSTILE, role="user"
            )
            user = await stored(page, "anna")
            assert (answer.status_code, answer.headers["location"]) == (303, f"/admin/users/{user.id}")
            shown = (await root.get("/admin/users")).text
            assert HOSTILE not in shown
            assert "&lt;img src=x onerror=alert(1)&gt;" in shown
            made = await act(root, user, "link")
            assert made.status_code == 201
            assert "never shown again" in made.text
            await anna.fill(link_in(made.text), "/login/link")
            assert "You have none yet." in (await anna.get("/account")).text
            assert (await anna.fill("/account", "/password", new=PASSWORD, again=PASSWORD)).status_code == 303
            log = await page.users.audit()
            assert [each for each in log if each[0] != "login"] == [
                ("user.create", "ok"), ("link.create", "ok"), ("password.set", "ok"),
            ]  # fmt: skip

    within(test())


WRONG = [
    ({"name": ""}, "name", "Needed is a name of a-z, 0-9, _, ., @ and -, that begins with a letter or _."),
    ({"name": "Anna"}, "name", "Needed is a name of a-z"),
    ({"name": "a" * 64}, "name", "String should have at most 63 characters."),
    ({"name": "alice"}, "name", "Is taken."),
    ({"display": "a\tb"}, "display", "Needed is one line of text."),
    ({"email": HOSTILE}, "email", "Needed is an address such as alice@example.org."),
    ({"role": "king"}, "role", "Input should be &#39;user&#39;, &#39;operator&#39; or &#39;admin&#39;."),
]


def test_what_is_wrong_is_beside_its_field(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            for form, field, words in WRONG:
                given = {"name": "anna", "display": "Anna", "email": "", "role": "operator", **form}
                answer = await found["root"].fill("/admin/users", "/admin/users", **given)
                assert answer.status_code == (409 if words == "Is taken." else 422)
                error = answer.text.partition(f'id="new-{field}-error">')[2].partition("</p>")[0]
                assert error.startswith(words)
                assert HOSTILE not in answer.text
                assert field == "display" or 'value="Anna"' in answer.text
                assert field == "role" or '<option value="operator" selected>' in answer.text

    within(test())


def test_a_role_and_names_are_changed(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            user = await stored(page, "alice")
            form = {"display": "Alice A.", "email": "alice@example.org", "role": "operator"}
            answer = await act(found["root"], user, "change", **form)
            assert (answer.status_code, answer.headers["location"]) == (303, f"/admin/users/{user.id}")
            after = await stored(page, "alice")
            assert (after.display, after.email, after.role) == ("Alice A.", "alice@example.org", "operator")
            assert after.epoch > user.epoch
            wrong = await act(found["root"], user, "change", **{**form, "email": "x"})
            assert wrong.status_code == 422
            assert 'id="change-email-error">Needed is an address' in wrong.text
            assert 'value="x"' in wrong.text

    within(test())


def test_who_is_disabled_is_logged_out_until_he_is_enabled(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            user, root = await stored(page, "alice"), found["root"]
            for state, button in (("disabled", "Enable"), ("locked", "Unlock")):
                assert (await act(root, user, "state", state=state)).status_code == 303
                assert (await found["alice"].get("/account")).status_code == 303
                text = (await root.get(f"/admin/users/{user.id}")).text
                assert f">{button}</button>" in text
                assert "/link" not in text
                refused = await act(root, user, "link")
                assert refused.status_code == 409
                assert f"The user is {state}, and a link would not log him in." in refused.text
                assert (await act(root, user, "state", state="active")).status_code == 303
                await enter(page, found["alice"], await stored(page, "alice"))
                assert (await found["alice"].get("/account")).status_code == 200
            wrong = await act(root, user, "state", state="king")
            assert wrong.status_code == 422
            assert "State: Input should be" in wrong.text

    within(test())


def test_a_password_is_reset(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            user = await stored(page, "alice")
            made = await act(found["root"], user, "reset")
            assert made.status_code == 201
            assert "His password is taken away, and his logins have ended." in made.text
            assert "His personal tokens are revoked." in made.text
            assert (await stored(page, "alice")).password is None
            assert (await found["alice"].get("/account")).status_code == 303
            assert (
                await page.users.token(grant_type="password", username="alice", password=PASSWORD)
            ).is_error
            await found["alice"].fill(link_in(made.text), "/login/link")
            assert "You have none yet." in (await found["alice"].get("/account")).text
            own = await act(found["root"], await stored(page, "root"), "reset")
            assert own.status_code == 409
            assert "This is you: change your password, which ends your other logins." in own.text
            page.users.clock.time += 60
            assert ("password.reset", "ok") in await page.users.audit()

    within(test())


def test_a_user_is_deleted_by_two_steps(tmp_path: Path) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            user = await stored(page, "alice")
            first = await act(found["root"], user, "delete")
            assert first.status_code == 422
            assert 'id="delete-sure-error">Tick the box: this cannot be undone.' in first.text
            answer = await act(found["root"], user, "delete", sure="yes")
            assert (answer.status_code, answer.headers["location"]) == (303, "/admin/users")
            gone = await found["root"].get(f"/admin/users/{user.id}")
            assert gone.status_code == 404
            assert "There is no such user." in gone.text
            assert (await act(found["root"], user, "delete", sure="yes")).status_code == 404

    within(test())


@pytest.mark.parametrize(
    ("what", "form"),
    [
        ("change", {"role": "user", "display": ""}),
        ("state", {"state": "locked"}),
        ("delete", {"sure": "yes"}),
    ],
)
def test_the_last_admin_stays_one(tmp_path: Path, what: str, form: dict[str, str]) -> None:
    async def test() -> None:
        async with browsers(tmp_path) as (page, found):
            user = await stored(page, "root")
            answer = await act(found["root"], user, what, **form)
            assert answer.status_code == 409
            assert LAST in answer.text
            assert '<div class="alert" role="alert">' in answer.text
            after = await stored(page, "root")
            assert (after.role, after.state) == (Role.ADMIN, UserState.ACTIVE)

    within(test())


def test_users_are_shown_by_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restful.page.admin.users.LIMIT", 2)

    async def test() -> None:
        async with browsers(tmp_path) as (_, found):
            first = (await found["root"].get("/admin/users")).text
            assert [name in first for name in ("alice</a>", "olga</a>", "root</a>")] == [True, True, False]
            path = first.partition('<p><a href="/admin/users?after=')[2].partition('"')[0]
            second = (await found["root"].get(f"/admin/users?after={path}")).text
            assert [name in second for name in ("alice</a>", "olga</a>", "root</a>")] == [False, False, True]
            assert "More users" not in second

    within(test())
