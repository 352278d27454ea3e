"""`minicluster serve --login-link`: who owns the state directory lets somebody in."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from minicluster.cli.main import run
from minicluster.database import open_database
from restful.cli.state import StateDirectory
from restful.identity import web_sessions
from restful.identity.caller import Caller
from restful.identity.identities import open_identities
from restful.identity.master_key import load_master_key
from restful.identity.principal import Role
from restful.identity.settings import IdentitySettings
from restful.store import users
from restful.store.schema import SCHEMA
from restful.store.users import UserKind, UserRecord, UserState
from tests.database import ready_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., tuple[int, str, str]]

KINDS = {
    "alice": (UserKind.USER, UserState.ACTIVE),
    "carol": (UserKind.USER, UserState.LOCKED),
    "robot": (UserKind.SERVICE, UserState.ACTIVE),
}


async def _with(directory: StateDirectory, work: Callable[[Any], Any]) -> Any:
    database = await open_database(directory.database, SCHEMA)
    master = load_master_key(directory.master_key)
    identities = open_identities(database, IdentitySettings(), time.time, master)
    try:
        return await work(identities)
    finally:
        await database.close()


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    """A state directory with users."""
    (tmp_path / "serve.db").write_bytes(ready_file.content(SCHEMA))
    tmp_path.chmod(0o700)
    found = StateDirectory(tmp_path)

    async def add(identities: Any) -> None:
        async with identities.change() as connection:
            for name, (kind, state) in KINDS.items():
                user = UserRecord(f"01{name:0>24}".upper(), name, kind, Role.USER, state, 0, 0.0)
                await users.add(connection, user)

    asyncio.run(_with(found, add))
    return found


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.setenv("COLUMNS", "200")

    def answer(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["minicluster", "serve", "--state", str(tmp_path), *words])
        code: Any = 0
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return int(code), out, " ".join(err.replace("│", "").split())

    return answer


def test_a_link_is_printed_and_logs_in_once(call: Call, directory: StateDirectory) -> None:
    code, out, err = call("--login-link", "alice", "--url", "https://mc.example")
    link = urlsplit(out.strip())
    assert (code, f"{link.scheme}://{link.netloc}{link.path}") == (0, "https://mc.example/login/link")
    assert err == "minicluster: it logs in once, within 15 minutes"

    async def redeem(identities: Any) -> list[bool]:
        token = parse_qs(link.query)["token"][0]
        caller = Caller("127.0.0.1", "")
        return [await web_sessions.redeem(identities, token, caller) is not None for _ in range(2)]

    assert asyncio.run(_with(directory, redeem)) == [True, False]


WRONG = {
    "nobody": (("--login-link", "bob"), "has no such user"),
    "a program": (("--login-link", "robot"), "has no such user"),
    "locked": (("--login-link", "carol"), "the user is locked; an admin can make him active"),
    "no address": (
        ("--login-link", "alice", "--listen", "127.0.0.1:0"),
        "give --listen or --url as for the service that is to be logged in to",
    ),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_a_link_that_is_not_made(
    call: Call, directory: StateDirectory, words: tuple[str, ...], message: str
) -> None:
    code, out, err = call(*words)
    assert (code > 0, out, message in err) == (True, "", True), err


def test_a_directory_that_others_may_read_makes_no_link(call: Call, directory: StateDirectory) -> None:
    directory.path.chmod(0o755)
    code, out, err = call("--login-link", "alice")
    assert (code > 0, out, "lets others read" in err) == (True, "", True), err


def test_there_is_no_link_before_a_service_has_run(call: Call, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    code, out, err = call("--login-link", "alice")
    assert (code > 0, out) == (True, "")
    assert "no service has run with it yet" in err
