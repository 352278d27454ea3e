"""Signing keys: rotated without a refused request, and sealed in the database."""

from pathlib import Path
from typing import Any

import pytest

from restful.identity.identities import open_identities
from restful.identity.master_key import MasterKey, MasterKeyError
from restful.store import signing_keys
from tests.restful.identity import service
from tests.restful.identity.service import SETTINGS, Service, bearer, within

DAY = 86_400.0


async def kids(here: Service) -> list[str]:
    answer = await here.client.get("/.well-known/jwks.json")
    return [each["kid"] for each in answer.json()["keys"]]


def test_a_rotation_refuses_no_request(tmp_path: Path) -> None:
    """A day before, at, and after each change of keys, a token is good for its whole life."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            statuses, published = [], []
            for gap in (0, 30 * DAY - 700, 41, 658, 2, 600, 60, 30 * DAY):
                here.clock.time += gap
                token = (await here.login("alice"))["access_token"]
                here.clock.time += 599
                statuses.append((await here.client.get("/v2/me", headers=bearer(token))).status_code)
                here.clock.time -= 599
                published.append(len(await kids(here)))
            return statuses, published

    statuses, published = within(work())
    assert statuses == [200] * 8
    assert set(published) == {1, 2}


def test_the_next_key_is_published_before_it_signs(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            first = await kids(here)
            here.clock.time += 30 * DAY - 660
            both = await kids(here)
            signing = (await here.identities.keys.signing()).kid
            here.clock.time += 660
            return first, both, signing, (await here.identities.keys.signing()).kid

    first, both, before, after = within(work())
    assert len(both) == 2
    assert (before, first) == (both[0], both[:1])
    assert after == both[1]


def test_replicas_have_the_same_keys(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            there = service.replica(here.identities.database, here.clock, number=1)
            return await kids(here), await kids(there)

    one, other = within(work())
    assert one == other
    assert len(one) == 1


def test_another_master_key_opens_no_key(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await kids(here)
            master = MasterKey(b"o" * 32)
            other = open_identities(here.identities.database, SETTINGS, here.clock, master)
            with pytest.raises(MasterKeyError, match="sealed with another master key"):
                await other.keys.signing()
            return True

    assert within(work())


def test_a_private_key_is_in_the_database_sealed_alone(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            key = await here.identities.keys.signing()
            async with here.identities.database.read() as connection:
                (stored,) = await signing_keys.every(connection)
            return key, stored

    key, stored = within(work())
    assert key.raw_value.private_bytes_raw() not in stored.private
    assert "private" not in repr(stored)
