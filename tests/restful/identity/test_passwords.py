"""Hashing: a few at a time, as dear for nobody, and never on the loop."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from restful.errors import HttpProblem
from restful.identity.passwords import PasswordCheck, Passwords
from tests.restful.identity.service import PASSWORD, SETTINGS, within


def test_a_password_is_right_or_wrong() -> None:
    async def work() -> Any:
        passwords = Passwords(SETTINGS)
        stored = await passwords.hash(PASSWORD)
        return stored, [await passwords.check(stored, each) for each in (PASSWORD, "wrong", "x" * 5000, "")]

    stored, found = within(work())
    assert stored.startswith("$argon2id$v=19$m=8,t=1,p=1$")
    assert found == [PasswordCheck(right=True), *[PasswordCheck(right=False)] * 3]


def test_the_same_password_typed_on_another_keyboard() -> None:
    async def work() -> Any:
        passwords = Passwords(SETTINGS)
        return await passwords.check(
            await passwords.hash("caf\u00e9 au lait noir"), "cafe\u0301 au lait noir"
        )

    assert within(work()).right


def test_nobody_has_a_hash_that_costs_the_same_and_never_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = Passwords(SETTINGS)
    compared = list[str]()

    def verify(stored: str, password: str) -> bool:
        compared.append(stored)
        return True

    async def work() -> Any:
        monkeypatch.setattr(type(passwords._hasher), "verify", lambda _, *args: verify(*args))
        return await passwords.check(None, PASSWORD)

    assert within(work()) == PasswordCheck(right=False)
    assert [each.rpartition("$")[0].rpartition("$")[0] for each in compared] == ["$argon2id$v=19$m=8,t=1,p=1"]


def test_the_hash_of_nobody_is_one() -> None:
    async def work() -> Any:
        passwords = Passwords(SETTINGS)
        return passwords._hasher.check_needs_rehash(passwords._nobody), await passwords.check(None, "")

    assert within(work()) == (False, PasswordCheck(right=False))


def test_a_third_hash_at_once_waits_and_one_beyond_those_is_refused() -> None:
    async def work() -> tuple[list[int], HttpProblem]:
        passwords = Passwords(replace(SETTINGS, argon2_waiting=2))
        order: list[int] = []

        async def later(number: int) -> None:
            async with passwords.slot():
                order.append(number)

        async with passwords.slot(), passwords.slot():
            assert passwords.under_way == 2
            waiting = [asyncio.create_task(later(number)) for number in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(HttpProblem) as caught:
                await later(2)
            assert (order, passwords.under_way) == ([], 2)
        await asyncio.gather(*waiting)
        await later(3)
        assert passwords.under_way == 0
        return order, caught.value

    order, problem = within(work())
    assert order == [0, 1, 3]
    assert (problem.type, problem.headers) == ("busy", {"Retry-After": "5"})
    assert problem.detail == "Too many logins at once; try again."


def test_who_no_longer_waits_takes_nothing() -> None:
    async def work() -> int:
        passwords = Passwords(replace(SETTINGS, argon2_waiting=1))

        async def later() -> None:
            async with passwords.slot():
                pass

        async with passwords.slot(), passwords.slot():
            waiting = asyncio.create_task(later())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.gather(later(), later())
        return passwords.under_way

    assert within(work()) == 0


def test_the_loop_goes_on_while_a_password_is_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = Passwords(SETTINGS)
    go_on = threading.Event()

    async def work() -> Any:
        monkeypatch.setattr(type(passwords._hasher), "hash", lambda *_: str(go_on.wait(30)))
        task = asyncio.create_task(passwords.hash(PASSWORD))
        await asyncio.sleep(0)
        go_on.set()  # the loop is free to set it
        return await task

    assert within(work()) == "True"


@pytest.mark.parametrize(
    ("password", "good"),
    [
        pytest.param("x" * 12, True, id="long enough"),
        pytest.param("x" * 11, False, id="short"),
        pytest.param("x" * 1024, True, id="as long as may be"),
        pytest.param("x" * 1025, False, id="too long"),
    ],
)
def test_which_passwords_are_accepted(password: str, good: bool) -> None:
    found = None
    try:
        Passwords(SETTINGS).require_good(password, "/new")
    except HttpProblem as problem:
        found = [(each.path, each.message) for each in problem.errors]
    assert found == (None if good else [("/new", "a password has 12 to 1024 characters")])
