"""Browsers' sessions, and links that log in once."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI

from restful.identity import web_sessions
from restful.identity.principal import Principal, Role
from restful.routes.access import requires
from restful.store import sessions, users
from tests.restful.identity import service
from tests.restful.identity.service import Service, caller, within

IDLE = 12 * 3600
DAY = 86_400


def with_stream(here: Service) -> FastAPI:
    """Return the application with a route of events, and one that is none."""
    app = here.app
    if any(getattr(each, "path", "") == "/stream" for each in app.routes):
        return app

    @app.get("/stream")
    async def stream(who: Annotated[Principal, Depends(requires("jobs:read", stream=True))]) -> str:
        return f"{who.name} {who.kind}"

    @app.get("/plain")
    async def plain(who: Annotated[Principal, Depends(requires("jobs:read"))]) -> str:
        return who.name

    return app


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param("/stream", {"accept": "text/event-stream"}, 200, id="events"),
        pytest.param("/stream", {"accept": "application/json"}, 401, id="no events"),
        pytest.param("/plain", {"accept": "text/event-stream"}, 401, id="another route"),
        pytest.param(
            "/stream", {"accept": "text/event-stream", "sec-fetch-site": "cross-site"}, 401, id="another site"
        ),
        pytest.param(
            "/stream",
            {"accept": "text/event-stream", "origin": "https://evil.example"},
            401,
            id="another origin",
        ),
    ],
)
def test_a_cookie_is_good_for_events_alone(
    tmp_path: Path, path: str, headers: dict[str, str], status: int
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as first:
            here = service.replica(first.identities.database, first.clock, number=2)
            with_stream(here)
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            sent = {**headers, "cookie": f"__Host-mc={session.cookie}"}
            return await here.client.get(path, headers=sent)

    answer = within(work())
    assert answer.status_code == status
    assert status == 401 or answer.json() == "alice session"


def test_a_cookie_is_good_until_its_session_ends(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as first:
            here = service.replica(first.identities.database, first.clock, number=2)
            with_stream(here)
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            headers = {"accept": "text/event-stream", "cookie": f"__Host-mc={session.cookie}"}
            found = [(await here.client.get("/stream", headers=headers)).json()]
            await web_sessions.close(here.identities, session.record, "")
            return [*found, (await here.client.get("/stream", headers=headers)).json()["detail"]]

    assert within(work()) == ["alice session", "The session has ended; log in again."]


@pytest.mark.parametrize("cookie", ["", "x", "mcs_" + "0" * 49])
def test_what_is_no_session(tmp_path: Path, cookie: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return await web_sessions.find(here.identities, cookie)

    assert within(work()) is None


def test_a_session_goes_on_while_it_is_used(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            found = []
            for gap in (IDLE - 1, IDLE - 1, IDLE):
                here.clock.time += gap
                found.append(await web_sessions.find(here.identities, session.cookie) is not None)
            return found

    assert within(work()) == [True, True, False]


def test_a_session_ends_a_week_after_its_login_however_it_is_used(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            found = []
            for _ in range(15):
                here.clock.time += IDLE - 1
                record = await web_sessions.find(here.identities, session.cookie)
                found.append(record is not None)
            async with here.identities.database.read() as connection:
                stored = await sessions.by_id(connection, session.record.id)
            return found, stored and stored.expires - stored.created

    assert within(work()) == ([*[True] * 14, False], 7 * DAY)


def test_a_session_lives_no_longer_than_is_set_now(tmp_path: Path) -> None:
    """Also one of before the setting was changed."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            again = service.replica(here.identities.database, here.clock, number=1, session_lifetime=3600.0)
            here.clock.time += 3600
            return [
                await web_sessions.find(each.identities, session.cookie) is not None for each in (here, again)
            ]

    assert within(work()) == [True, False]


def test_refresh_tokens_end_a_while_after_their_login_however_they_are_used(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            refresh, found = (await here.login("alice"))["refresh_token"], []
            for _ in range(4):
                here.clock.time += 25 * DAY
                answer = (await here.token(grant_type="refresh_token", refresh_token=refresh)).json()
                refresh = answer.get("refresh_token", refresh)
                found.append(answer.get("error_description", "good"))
            return found

    assert within(work()) == ["good", "good", "good", "the refresh token has expired"]


def test_who_logs_out_is_out(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            session = await web_sessions.open_session(here.identities, alice, caller())
            before = await web_sessions.find(here.identities, session.cookie)
            assert before is not None
            await web_sessions.close(here.identities, before, service.ADDRESS)
            return await web_sessions.find(here.identities, session.cookie), await here.audit()

    after, log = within(work())
    assert after is None
    assert ("logout", "ok") in log


def test_each_login_has_a_cookie_and_a_form_token_of_its_own(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            return [await web_sessions.open_session(here.identities, alice, caller()) for _ in range(2)]

    one, other = within(work())
    assert one.cookie != other.cookie
    assert one.record.csrf != other.record.csrf
    assert one.cookie not in repr(one)
    assert one.record.csrf not in repr(one)


def test_a_link_logs_in_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            link = await web_sessions.login_link(here.identities, alice)
            found = [await web_sessions.redeem(here.identities, link, caller()) for _ in range(2)]
            return [each and each.record.user == alice.id for each in found], await here.audit()

    found, log = within(work())
    assert found == [True, None]
    assert log == [("link.create", "ok"), ("login", "ok"), ("login", "denied")]


@pytest.mark.parametrize("why", ["late", "no link", "unknown", "disabled"])
def test_a_link_that_is_not_good(tmp_path: Path, why: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            link = await web_sessions.login_link(here.identities, alice)
            if why == "late":
                here.clock.time += 900
            elif why == "no link":
                link = (await here.personal("alice", "jobs:read"))["token"]
            elif why == "unknown":
                link = here.identities.new_token(web_sessions.TokenKind.LINK)
            else:
                await here.ensure_admin("root")
                root = await here.headers("root")
                path = f"/v2/users/{alice.id}"
                await here.client.patch(path, json={"state": "disabled"}, headers=root)
            return await web_sessions.redeem(here.identities, link, caller())

    assert within(work()) is None


def test_the_first_admin_gets_a_link_until_he_has_logged_in(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            links = [await web_sessions.first_admin_link(here.identities) for _ in range(2)]
            session = await web_sessions.redeem(here.identities, links[1] or "", caller())
            return links, session, await web_sessions.first_admin_link(here.identities)

    links, session, after = within(work())
    assert None not in links
    assert session is not None
    assert after is None


@pytest.mark.parametrize("way", ["logged out", "idle"])
def test_an_admin_without_a_password_who_is_out_gets_another_link(tmp_path: Path, way: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            link = await web_sessions.first_admin_link(here.identities)
            session = await web_sessions.redeem(here.identities, link or "", caller())
            assert session is not None
            if way == "idle":
                here.clock.time += IDLE
            else:
                await web_sessions.close(here.identities, session.record, service.ADDRESS)
            again = await web_sessions.first_admin_link(here.identities)
            second = await web_sessions.redeem(here.identities, again or "", caller())
            return session.record.user, second and second.record.user

    first, second = within(work())
    assert first == second


def test_an_admin_who_is_known_at_a_provider_needs_no_link(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            root = await here.add_user("root", Role.ADMIN, password=None)
            before = await web_sessions.first_admin_link(here.identities)
            async with here.identities.change() as connection:
                await users.link(connection, "https://id.example", "42", root.id)
            return before is None, await web_sessions.first_admin_link(here.identities)

    assert within(work()) == (False, None)


def test_a_link_is_for_an_admin_who_is_there(tmp_path: Path) -> None:
    """Whatever he is called; a user called as the first admin would be stays what he is."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("admin", Role.USER)
            root = await here.add_user("root", Role.ADMIN, password=None)
            link = await web_sessions.first_admin_link(here.identities)
            session = await web_sessions.redeem(here.identities, link or "", caller())
            return session is not None and session.record.user == root.id

    assert within(work())


def test_with_an_admin_there_is_no_link(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.ensure_admin("root")
            return await web_sessions.first_admin_link(here.identities)

    assert within(work()) is None


def test_a_user_of_that_name_does_not_become_an_admin(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("admin", Role.USER)
            with pytest.raises(RuntimeError, match="the user admin is there and no admin: make one"):
                await web_sessions.first_admin_link(here.identities)
            return True

    assert within(work())


def test_old_sessions_are_forgotten_and_families_that_go_on_are_not(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path, family_lifetime=400 * DAY) as here:
            alice = await here.add_user("alice")
            refresh = (await here.login("alice"))["refresh_token"]
            for _ in range(8):
                here.clock.time += 29 * DAY
                form = {"grant_type": "refresh_token", "refresh_token": refresh}
                refresh = (await here.token(**form)).json()["refresh_token"]
            await web_sessions.open_session(here.identities, alice, caller())
            form = {"grant_type": "refresh_token", "refresh_token": refresh}
            return (await here.token(**form)).status_code

    assert within(work()) == 200
