"""API5:2023, broken function level authorization: what a token's scope does not cover it cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restful.identity.principal import Role
from restful.identity.scopes import BY_ROLE, SCOPES
from restful.store import users
from tests.restful.authorization.requests import Sent
from tests.restful.authorization.routes import ROWS, Kind
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker, Shown, add_token
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import operations, secured, sent_to, shown

if TYPE_CHECKING:
    from pathlib import Path

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def test_each_scope_is_needed(tmp_path: Path) -> None:
    """An admin's token of all scopes but the one that the document states."""

    async def work() -> tuple[dict[Any, Any], int]:
        async with opened(tmp_path) as here:
            admin, found, asked = here.users["admin"], {}, 0
            without = {
                scope: (await add_token(here.identities, admin, SCOPES - {scope}))[1] for scope in SCOPES
            }
            for operation in secured(here):
                if not operation.scope:
                    continue
                sent = await sent_to(here, operation.key, Shown(bearer=without[operation.scope]))
                answer = await here.ask(sent)
                asked += 1
                if (answer.status, operation.scope in answer.text) != (403, True):
                    found[operation.key] = answer.status
            return found, asked

    found, asked = within(work())
    assert found == {}
    assert asked > 50


def test_a_role_that_was_taken_away_is_gone(tmp_path: Path) -> None:
    """Tokens of an admin who is a user now do what users may; those of a login have ended."""

    async def work() -> dict[str, set[int]]:
        async with opened(tmp_path) as here:
            personal = await shown(here, Asker.ADMIN)
            admin = here.users["admin"]
            access = await here.identities.access_token(admin, "x", SCOPES, "x")
            async with here.identities.change() as connection:
                await users.change(connection, admin.id, {"role": Role.USER}, end=True)
            found: dict[str, set[int]] = {"personal": set(), "access": set()}
            for operation in secured(here):
                if operation.scope and operation.scope not in BY_ROLE[Role.USER]:
                    for name, token in (("personal", personal.bearer), ("access", access)):
                        sent = await sent_to(here, operation.key, Shown(bearer=token))
                        found[name].add((await here.ask(sent)).status)
            return found

    assert within(work()) == {"personal": {403}, "access": {401}}


def test_no_other_method_does_what_a_route_refuses(tmp_path: Path) -> None:
    async def work() -> dict[Any, Any]:
        async with opened(tmp_path) as here:
            admin, wrong = (await shown(here, Asker.ADMIN)).bearer, {}
            known = {(method, key.partition("#")[0]) for method, key in ROWS}
            for path in {each.key[1] for each in operations(here)}:
                for method in METHODS:
                    if (method, path) in known or path == "/v1/jobs/submit":  # GET of it is that of a job
                        continue
                    answer = await here.ask(
                        Sent(method, path.replace("{", "").replace("}", ""), bearer(admin))
                    )
                    allowed = answer.headers.get("allow", "")
                    if answer.status not in {404, 405} or (answer.status == 405 and not allowed):
                        wrong[method, path] = answer.status
            return wrong

    assert within(work()) == {}


def test_a_refused_method_names_those_of_the_document(tmp_path: Path) -> None:
    """A path may fit the pattern of another one, too: GET of /v1/jobs/submit is that of a job."""

    async def work() -> dict[str, set[str]]:
        async with opened(tmp_path) as here:
            headers, wrong = bearer((await shown(here, Asker.ADMIN)).bearer), {}
            for path, found in here.app.openapi()["paths"].items():
                answer = await here.ask(Sent("OPTIONS", path.replace("{", "").replace("}", ""), headers))
                allowed = set(answer.headers["allow"].split(", ")) - {"HEAD"}
                if (answer.status, allowed) != (405, {method.upper() for method in found}):
                    wrong[path] = allowed
            return wrong

    assert within(work()) == {}


def test_a_header_does_not_change_the_method(tmp_path: Path) -> None:
    async def work() -> set[int]:
        async with opened(tmp_path) as here:
            token, found = (await shown(here, Asker.ADMIN)).bearer, set()
            carol = here.users["carol"].id
            for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"):
                sent = Sent("GET", f"/v2/users/{carol}", {**bearer(token), name: "DELETE"})
                found.add((await here.ask(sent)).status)
            async with here.services.database.read() as connection:
                assert await users.by_id(connection, carol) is not None
            return found

    assert within(work()) == {200}


def test_admins_routes_are_for_admins() -> None:
    """What only admins have a scope for is of the kind that the matrix refuses everybody else."""
    admins = BY_ROLE[Role.ADMIN] - BY_ROLE[Role.OPERATOR]
    assert admins == {"users:read", "users:manage", "audit:read"}
    assert {
        row.kind for key, row in ROWS.items() if key[1].startswith(("/v2/users", "/v2/g", "/v2/audit"))
    } == {Kind.ADMIN, Kind.ADMIN_LOGIN}
