"""Authenticators: who is asked about whom, and that a name here is nobody's elsewhere."""

import asyncio
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from restful.errors import HttpProblem
from restful.identity import authenticators, pam
from restful.identity.pam import PamAuthenticator
from restful.identity.pam_accounts import PamAccounts
from restful.identity.principal import Role
from restful.store import users
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, Service, bearer, within

THERE = "password there"


@dataclass
class Directory:
    """Users who are known elsewhere."""

    passwords: dict[str, str]
    issuer: str = "directory"
    asked: list[str] = field(default_factory=list)

    async def authenticate(self, name: str, password: str) -> bool:
        self.asked.append(name)
        return self.passwords.get(name) == password


async def statuses(here: Service, directory: Directory, *logins: tuple[str, str]) -> list[int]:
    """Return the answers to logins, far apart, where a directory is asked as well."""
    here.app.state.services.identities = replace(here.identities, authenticators=(directory,))
    found = []
    for name, password in logins:
        here.clock.time += 1000
        found.append((await here.token(grant_type="password", username=name, password=password)).status_code)
    return found


def test_whom_a_directory_knows_is_made_once(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            directory = Directory({"dora": THERE})
            found = await statuses(here, directory, *[("dora", THERE)] * 2, ("dora", "wrong"))
            await here.ensure_admin("root")
            listed = await here.client.get("/v2/users", headers=await here.headers("root"))
            return found, [(each["name"], each["role"]) for each in listed.json()]

    assert within(work()) == ([200, 200, 400], [("dora", "user"), ("root", "admin")])


@pytest.mark.parametrize("role", Role)
def test_a_name_here_is_not_the_one_there(tmp_path: Path, role: Role) -> None:
    """A user of this service without a password is not whom a directory calls so."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("admin", role, password=None)
            return await statuses(here, Directory({"admin": THERE}), ("admin", THERE))

    assert within(work()) == [400]


def test_about_whom_a_directory_is_not_asked(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            directory = Directory({"alice": THERE})
            found = await statuses(
                here,
                directory,
                ("alice", THERE),
                ("alice", PASSWORD),
                ("dora\0x", THERE),
                ("dora", f"{THERE}\0x"),
                ("Dora", THERE),
            )
            return found, directory.asked

    assert within(work()) == ([400, 200, 400, 400, 400], [])


def test_whom_a_directory_knows_gets_no_password_here(tmp_path: Path) -> None:
    """He would log in with it when his account there is gone."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            assert await statuses(here, Directory({"dora": THERE}), ("dora", THERE)) == [200]
            answer = await here.token(grant_type="password", username="dora", password=THERE)
            headers = bearer(answer.json()["access_token"])
            body = {"current": THERE, "new": PASSWORD}
            changed = await here.client.patch("/v2/me/password", json=body, headers=headers)
            async with here.identities.database.read() as connection:
                return changed, await users.by_name(connection, "dora")

    changed, dora = within(work())
    assert (changed.status_code, changed.json()["detail"]) == (
        403,
        "You log in elsewhere: that is where your password is.",
    )
    assert dora.password is None


def test_an_authenticator_that_is_not_installed() -> None:
    with pytest.raises(ValueError, match="there is no authenticator 'ldap'; installed are: "):
        authenticators.load(["ldap"])


def test_an_authenticator_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = Directory({})
    entry = SimpleNamespace(name="directory", load=lambda: lambda: directory)
    monkeypatch.setattr(authenticators, "entry_points", lambda group: [entry])
    assert authenticators.load(["directory"]) == (directory,)


def test_pam_is_asked_about_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()

    def authenticate(name: str, password: str, service: str) -> bool:
        asked.append((name, password, service))
        return True

    monkeypatch.setattr("importlib.import_module", lambda _: SimpleNamespace(authenticate=authenticate))
    monkeypatch.setattr(PamAccounts, "admits", lambda *_: True)
    assert within(pam.authenticator().authenticate("dora", THERE))
    assert asked == [("dora", THERE, "minicluster")]


def test_a_fifth_question_to_pam_at_once_is_refused() -> None:
    go_on = threading.Event()

    async def work() -> Any:
        found = PamAuthenticator(lambda *_: go_on.wait(30))
        tasks = [asyncio.create_task(found.authenticate("dora", THERE)) for _ in range(4)]
        await asyncio.sleep(0)
        try:
            with pytest.raises(HttpProblem) as caught:
                await found.authenticate("dora", THERE)
        finally:
            go_on.set()
        return caught.value, await asyncio.gather(*tasks)

    problem, answers = within(work())
    assert (problem.type, problem.headers, answers) == ("busy", {"Retry-After": "2"}, [True] * 4)
