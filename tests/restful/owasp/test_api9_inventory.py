"""API9:2023, improper inventory management: a served route is in the document, or listed with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.restful.authorization.requests import Sent
from tests.restful.authorization.routes import ROWS, STATIC, Kind
from tests.restful.authorization.served_routes import documented, served
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import operations, shown

if TYPE_CHECKING:
    from pathlib import Path

NOT_DOCUMENTED = {
    "/openapi.json": "the document itself",
    "/clusters/{cluster}/v1/": "each is /v1's of the same name, for a service of several clusters",
    **dict.fromkeys(STATIC, "files of the page"),
}
"""What is served and not in the document, by the beginning of its path. Pages are for browsers."""
UNWANTED = (
    "/docs", "/redoc", "/metrics", "/debug", "/admin/debug", "/console", "/swagger", "/swagger.json",
    "/graphql", "/v0/jobs", "/v3/jobs", "/api", "/api/v1/jobs", "/.git/config", "/.env", "/server-status",
    "/trace", "/v2/openapi.json", "/v1/openapi.json", "/v1/service/start", "/robots.txt", "/static/",
    "/_debug",
)  # fmt: skip


def test_what_is_not_in_the_document_is_listed(tmp_path: Path) -> None:
    async def work() -> set[tuple[str, str]]:
        async with opened(tmp_path) as here:
            found, known = served(here.app), documented(here.app)
            of_documented = {key for key in found if key[0] == "HEAD" and ("GET", key[1]) in known}
            return found - known - of_documented

    unlisted = {key for key in within(work()) if not key[1].startswith(tuple(NOT_DOCUMENTED))}
    assert {key for key in unlisted if key not in ROWS or not ROWS[key].kind.startswith("page")} == set()
    assert {ROWS[key].kind for key in unlisted} <= {each for each in Kind if each.startswith("page")}


def test_nothing_else_is_served(tmp_path: Path) -> None:
    async def work() -> dict[str, int]:
        async with opened(tmp_path) as here:
            headers = bearer((await shown(here, Asker.ADMIN)).bearer)
            return {path: (await here.ask(Sent("GET", path, headers))).status for path in UNWANTED}

    assert {path: status for path, status in within(work()).items() if status != 404} == {}


def test_each_route_is_described(tmp_path: Path) -> None:
    async def work() -> tuple[dict[str, str], set[str]]:
        async with opened(tmp_path) as here:
            found = operations(here)
            lacks = {
                " ".join(each.key): name
                for each in found
                for name in ("summary", "description", "tags", "operationId")
                if not each.content.get(name)
            }
            return lacks, {each.key[1].split("/")[1] for each in found}

    lacks, beginnings = within(work())
    assert lacks == {}
    assert beginnings == {".well-known", "healthz", "readyz", "v1", "v2"}


def test_the_older_version_is_documented_and_as_guarded(tmp_path: Path) -> None:
    """Each route of /v1 states its scope, as those of /v2 do."""

    async def work() -> set[str]:
        async with opened(tmp_path) as here:
            return {
                each.key[1]
                for each in operations(here)
                if each.key[1].startswith("/v1/") and each.scope is None
            }

    assert within(work()) == {"/v1/token", "/v1/login/access-token"}
