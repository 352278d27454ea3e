"""A service without logins, on loopback: the admin asks, and no page of others does."""

from pathlib import Path
from typing import Any

import pytest

from restful.identity import web_sessions
from tests.restful.identity import service
from tests.restful.identity.service import bearer, within


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="no browser"),
        pytest.param({"sec-fetch-site": "same-origin"}, 200, id="a page of ours"),
        pytest.param({"sec-fetch-site": "cross-site"}, 401, id="a page of others"),
        pytest.param({"origin": "http://evil.example"}, 401, id="an old browser elsewhere"),
        pytest.param(bearer("x"), 401, id="a token is looked at all the same"),
    ],
)
def test_who_may_ask_without_a_token(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path, no_auth=True) as here:
            await web_sessions.first_admin_link(here.identities)
            return await here.client.get("/v2/me", headers=headers)

    answer = within(work())
    assert answer.status_code == status
    assert status == 401 or (answer.json()["name"], answer.json()["role"]) == ("admin", "admin")


def test_without_an_admin_nobody_asks(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path, no_auth=True) as here:
            return await here.client.get("/v2/me")

    assert within(work()).json()["detail"] == "There is no user admin."
