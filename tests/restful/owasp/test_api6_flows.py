"""API6:2023, unrestricted access to sensitive business flows: logins, devices, tokens, jobs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful.identity import device_flow, token_answers
from restful.identity.scopes import BY_ROLE
from restful.settings import JobLimits
from tests.restful.authorization.requests import Sent
from tests.restful.authorization.service import SETTINGS, SHARED, opened
from tests.restful.authorization.users import CALLER, Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import shown

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def test_devices_poll_ever_slower_and_no_slower_than_a_minute(tmp_path: Path) -> None:
    async def work() -> tuple[list[str], float]:
        async with opened(tmp_path) as here:
            made = (await here.ask(Sent("POST", "/v2/oauth/device", form={"client_id": "c"}))).json()
            form = {"grant_type": DEVICE, "device_code": made["device_code"], "client_id": "c"}
            errors = [
                (await here.ask(Sent("POST", "/v2/oauth/token", form=form))).json()["error"]
                for _ in range(30)
            ]
            here.clock.time += device_flow.MAX_INTERVAL
            errors.append((await here.ask(Sent("POST", "/v2/oauth/token", form=form))).json()["error"])
            return errors

    assert within(work()) == ["authorization_pending", *["slow_down"] * 29, "authorization_pending"]


def test_codes_of_devices_are_guessed_no_faster_than_a_user_may_ask(tmp_path: Path) -> None:
    async def work() -> list[int]:
        settings = replace(SETTINGS, requests=replace(SETTINGS.requests, burst=3))
        async with opened(tmp_path, settings=settings) as here:
            token = (await shown(here, Asker.LOGIN)).bearer
            return [
                (
                    await here.ask(
                        Sent(
                            "POST",
                            "/v2/me/device",
                            bearer(token),
                            body={"user_code": f"BCDF-GHJ{letter}", "approve": True},
                        )
                    )
                ).status
                for letter in "KLMNP"
            ]

    assert within(work()) == [422, 422, 422, 429, 429]


def test_a_user_has_a_number_of_tokens(tmp_path: Path) -> None:
    async def work() -> list[int]:
        async with opened(tmp_path, tokens_per_user=3) as here:
            token, found = (await shown(here, Asker.LOGIN)).bearer, []
            for number in range(4):
                body = {"name": f"t{number}", "scopes": ["jobs:read"]}
                found.append((await here.ask(Sent("POST", "/v2/me/tokens", bearer(token), body=body))).status)
            return found

    assert within(work()) == [201, 201, 201, 409]


@pytest.mark.parametrize(
    ("asker", "who"), [(Asker.OWNER, "A personal token"), (Asker.CLIENT, "A service account")]
)
@pytest.mark.parametrize(
    ("method", "path", "body", "act"),
    [
        ("POST", "/v2/me/device", {"user_code": "x", "approve": True}, "log in a device"),
        ("PATCH", "/v2/me/password", {"current": "x" * 12, "new": "y" * 12}, "change the password"),
    ],
)
def test_nothing_that_outlives_a_token_is_made_with_it(
    tmp_path: Path, asker: Asker, who: str, method: str, path: str, body: Any, act: str
) -> None:
    """A secret that was lost is revoked; what it had made would go on."""

    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = (await shown(here, asker)).bearer
            if asker is Asker.CLIENT:
                work = here.users["work"]
                token = await _with_all_scopes(here, work)
            return await here.ask(Sent(method, path, bearer(token), body=body))

    answer = within(work())
    assert (answer.status, answer.json()["detail"]) == (403, f"{who} may not {act}: log in.")


async def _with_all_scopes(here: Any, user: Any) -> str:
    answer = await token_answers.after_login(here.identities, user, BY_ROLE[user.role], CALLER)
    return str(answer.access)


@pytest.mark.parametrize(
    ("asker", "who"), [(Asker.ADMIN, "A personal token"), (Asker.ROBOT, "A service account")]
)
@pytest.mark.parametrize(
    ("method", "path", "body", "act"),
    [
        ("POST", "/v2/users", {"name": "eve", "role": "admin"}, "give the role admin"),
        ("POST", "/v2/users", {"name": "eve", "password": "y" * 12}, "set a user's password"),
        ("PATCH", "/v2/users/{alice}", {"role": "admin"}, "give the role admin"),
        ("PATCH", "/v2/users/{alice}", {"role": "operator"}, "give the role operator"),
        ("PATCH", "/v2/users/{alice}", {"password": "y" * 12}, "set a user's password"),
        ("PATCH", "/v2/users/{alice}", {"state": "active"}, "let a user in again"),
        ("POST", "/v2/clients", {"name": "eve", "scopes": ["jobs:read"]}, "make a service account"),
    ],
)
def test_an_admins_token_lets_nobody_in_for_later(
    tmp_path: Path, asker: Asker, who: str, method: str, path: str, body: Any, act: str
) -> None:
    """Who finds it would make an admin of his own, and stay one when it is revoked."""

    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = (await shown(here, asker)).bearer
            where = path.format(alice=here.users["alice"].id)
            return await here.ask(Sent(method, where, bearer(token), body=body))

    answer = within(work())
    assert (answer.status, answer.json()["detail"]) == (403, f"{who} may not {act}: log in.")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v2/users", {"name": "eve"}, 201),
        ("PATCH", "/v2/users/{alice}", {"state": "locked"}, 200),
        ("PATCH", "/v2/users/{alice}", {"role": "user", "display": "Alice"}, 200),
        ("DELETE", "/v2/users/{carol}", None, 204),
    ],
)
def test_an_admins_token_does_what_lets_nobody_in(
    tmp_path: Path, method: str, path: str, body: Any, status: int
) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = (await shown(here, Asker.ADMIN)).bearer
            where = path.format(**{name: each.id for name, each in here.users.items()})
            return (await here.ask(Sent(method, where, bearer(token), body=body))).status

    assert within(work()) == status


def test_a_service_account_gets_no_scope_that_its_maker_has_not(tmp_path: Path) -> None:
    """Also behind a login, where that was for fewer scopes."""

    async def work() -> list[Any]:
        async with opened(tmp_path) as here:
            admin, found = here.users["admin"], []
            narrow = frozenset({"users:manage", "jobs:read"})
            login = await token_answers.after_login(here.identities, admin, narrow, CALLER)
            for scope in ("jobs:read", "audit:read"):
                body = {"name": f"c-{scope[:4]}", "role": "admin", "scopes": [scope]}
                answer = await here.ask(Sent("POST", "/v2/clients", bearer(login.access), body=body))
                found.append((answer.status, answer.json().get("errors")))
            return found

    beyond = {"path": "/scopes", "message": "beyond what this login may do: 'audit:read'"}
    assert within(work()) == [(201, None), (422, [beyond])]


def test_a_service_account_makes_no_personal_token(tmp_path: Path) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = await _with_all_scopes(here, here.users["work"])
            body = {"name": "x", "scopes": ["jobs:read"]}
            return await here.ask(Sent("POST", "/v2/me/tokens", bearer(token), body=body))

    assert within(work()).json()["detail"] == "A service account may not make a personal token: log in."


def test_without_a_login_nothing_is_made_for_later(tmp_path: Path) -> None:
    """What somebody makes while `serve --no-auth` runs is not good when it needs a login again."""

    async def work() -> dict[str, Any]:
        async with opened(tmp_path, no_auth=True, issuer="http://127.0.0.1:8080") as here:
            tries = {
                "token": ("POST", "/v2/me/tokens", {"name": "x", "scopes": ["jobs:read"]}),
                "device": ("POST", "/v2/me/device", {"user_code": "x", "approve": True}),
                "password": ("PATCH", "/v2/me/password", {"current": "x", "new": "y" * 12}),
                "user": ("POST", "/v2/users", {"name": "evil", "role": "admin"}),
                "grant": ("POST", "/v2/grants", {"cluster": "*", "role": "operate"}),
            }
            found = {}
            for name, (method, path, body) in tries.items():
                answer = await here.ask(Sent(method, path, body=body))
                found[name] = (answer.status, answer.json()["detail"])
            allowed = await here.ask(Sent("POST", f"/v2/clusters/{SHARED}/jobs", body={"command": ["true"]}))
            found["job"] = (allowed.status, "")
            return found

    assert within(work()) == {
        "token": (403, "A request without a login may not make a personal token: log in."),
        "device": (403, "A request without a login may not log in a device: log in."),
        "password": (403, "A request without a login may not change the password: log in."),
        "user": (403, "This needs the scope users:manage."),
        "grant": (403, "This needs the scope users:manage."),
        "job": (201, ""),
    }


def test_a_user_has_a_number_of_jobs_however_many_ask_at_once(tmp_path: Path) -> None:
    """The quota is checked in the transaction that writes the reservation."""

    async def work() -> list[int]:
        settings = replace(SETTINGS, jobs=JobLimits(active=4))
        async with opened(tmp_path, settings=settings) as here:
            token = (await shown(here, Asker.OWNER)).bearer
            sent = Sent("POST", f"/v2/clusters/{SHARED}/jobs", bearer(token), body={"command": ["true"]})
            answers = await asyncio.gather(*(here.ask(sent) for _ in range(12)))
            return sorted(each.status for each in answers)

    assert within(work()) == [201] * 3 + [403] * 9  # one has been there before
