"""Planted secrets: in no record's repr, no log, no error, no audit entry, and not in the database's file."""

import logging
from pathlib import Path
from typing import Any

import pytest

from restful.identity import devices, web_sessions
from restful.identity.token_answers import OAuthError
from restful.store import device_codes, sessions, signing_keys, tokens, users
from restful.store.audit import AuditFilter, page
from restful.store.sessions import SessionKind
from restful.store.tokens import CredentialKind
from tests.restful.identity import service
from tests.restful.identity.service import MASTER, PASSWORD, Service, caller, within

CANARY = "planted canary in a password"


async def used(here: Service) -> dict[str, str]:
    """Use every kind of secret once, well and badly, and return them."""
    identities = here.identities
    await here.ensure_admin("root")
    headers = await here.headers("root")
    made = await here.client.post("/v2/users", json={"name": "alice", "password": CANARY}, headers=headers)
    body = {"name": "robot", "scopes": ["jobs:read"]}
    client = (await here.client.post("/v2/clients", json=body, headers=headers)).json()["client_secret"]
    form = {"grant_type": "password", "username": "alice", "password": CANARY}
    login = (await here.token(**form)).json()
    personal = (await here.personal("root", "jobs:read"))["token"]
    async with identities.database.read() as connection:
        alice = await users.by_id(connection, made.json()["id"])
    assert alice is not None
    web = await web_sessions.open_session(identities, alice, caller())
    link = await web_sessions.login_link(identities, alice)
    device = await devices.start(identities, None, caller())
    with pytest.raises(OAuthError):
        await devices.poll(identities, device.device_code, caller())
    await here.token(grant_type="password", username=CANARY, password=personal)
    await here.client.get("/v2/me", headers=service.bearer(f"{personal[:-1]}!"))
    return {
        "password": CANARY,
        "access": login["access_token"],
        "refresh": login["refresh_token"],
        "personal": personal[4:],
        "client": client[4:],
        "cookie": web.cookie[4:],
        "link": link[4:],
        "device": device.device_code[4:],
        "hash": alice.password or "",
    }


async def written(here: Service) -> list[str]:
    """Return the reprs of all records, and of the service itself."""
    found: list[object] = [here.identities]
    async with here.identities.database.read() as connection:
        for name in ("alice", "root"):
            user = await users.by_name(connection, name)
            assert user is not None
            found += [user, *await sessions.of_user(connection, user.id, here.clock())]
            found += await tokens.of_user(connection, user.id, CredentialKind.PERSONAL)
        found += await signing_keys.every(connection)
        found += await page(connection, AuditFilter(limit=500))
        rows = await connection.execute(device_codes.DEVICE_CODES.select())
        found += [device_codes._record(row) for row in rows]
        rows = await connection.execute(
            sessions.SESSIONS.select().where(sessions.SESSIONS.c.kind == SessionKind.LINK)
        )
        found += [sessions._record(row) for row in rows]
    return [repr(each) for each in found]


def test_no_secret_is_written_anywhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("aiosqlite").setLevel(logging.WARNING)

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            secrets = await used(here)
            return secrets, await written(here)

    secrets, texts = within(work())
    assert all(len(each) > 20 for each in secrets.values())
    everywhere = {"records": "\n".join(texts), "logs": caplog.text}
    assert [
        (where, name) for where, text in everywhere.items() for name, each in secrets.items() if each in text
    ] == []
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    hashed = secrets.pop("hash")
    assert hashed.encode() in content
    assert [name for name, each in secrets.items() if each.encode() in content] == []
    assert MASTER.secret not in content


def test_an_error_about_a_body_does_not_have_it(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            body = {"current": PASSWORD, "new": "short"}
            return await here.client.patch("/v2/me/password", json=body, headers=await here.headers("alice"))

    assert PASSWORD not in within(work()).text
