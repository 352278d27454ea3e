"""Passwords: argon2id (RFC 9106) in threads, a few at a time; others wait, and beyond some are refused."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread
from anyio import CapacityLimiter
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from restful.errors import FieldError, HttpProblem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from restful.identity.settings import IdentitySettings

_SALT_BYTES = 16
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class PasswordCheck:
    """What came of comparing a password."""

    right: bool
    outdated: bool = False
    """Right, but hashed with other parameters than today's: it is to be hashed anew."""


class Passwords:
    """Hashes and compares; never on the event loop."""

    def __init__(self, settings: IdentitySettings) -> None:
        self._settings = settings
        self._hasher = PasswordHasher(
            time_cost=settings.argon2_passes,
            memory_cost=settings.argon2_memory,
            parallelism=settings.argon2_lanes,
            salt_len=_SALT_BYTES,
            hash_len=_HASH_BYTES,
            type=Type.ID,
        )
        self._limiter = CapacityLimiter(settings.argon2_concurrency)
        self._places = asyncio.Semaphore(settings.argon2_concurrency)
        self._waiting = 0
        self._running = 0
        self._nobody = self._hash_of_nobody()

    def _hash_of_nobody(self) -> str:
        """Return a hash that no password has, as dear to compare as the others."""
        settings = self._settings
        costs = f"m={settings.argon2_memory},t={settings.argon2_passes},p={settings.argon2_lanes}"
        return f"$argon2id$v=19${costs}${_base64(_SALT_BYTES)}${_base64(_HASH_BYTES)}"

    @property
    def under_way(self) -> int:
        """How many places for a hash are taken."""
        return self._running

    def require_room(self) -> None:
        """Raise the problem `busy` where as many as may wait for a place do."""
        if self._places.locked() and self._waiting >= self._settings.argon2_waiting:
            raise HttpProblem("busy", "Too many logins at once; try again.", headers={"Retry-After": "5"})

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Take one of the few places for a hash, behind those who came before. Raises the problem `busy`."""
        self.require_room()
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._places.release()

    async def check(self, stored: str | None, password: str) -> PasswordCheck:
        """Compare a password with a hash, or with nobody's, which takes as long; within a `slot`."""
        return await anyio.to_thread.run_sync(self._check, stored, password, limiter=self._limiter)

    async def hash(self, password: str) -> str:
        """Return the hash of a password that `refusals` finds nothing against; within a `slot`."""
        return await anyio.to_thread.run_sync(self._hasher.hash, _normal(password), limiter=self._limiter)

    def require_good(self, password: str, path: str) -> None:
        """Raise the problem `invalid` for the field at a path if a password is too short or too long."""
        settings = self._settings
        low, high = settings.password_length_min, settings.password_length_max
        if not low <= len(_normal(password)) <= high:
            message = f"a password has {low} to {high} characters"
            raise HttpProblem("invalid", "The password is not accepted.", (FieldError(path, message),))

    def _check(self, stored: str | None, password: str) -> PasswordCheck:
        if len(password) > self._settings.password_length_max:
            password = ""
        try:
            self._hasher.verify(stored or self._nobody, _normal(password))
        except (VerificationError, InvalidHashError):
            return PasswordCheck(right=False)
        right = stored is not None
        return PasswordCheck(right, outdated=right and self._hasher.check_needs_rehash(stored or ""))


def _normal(password: str) -> str:
    """Return a password as each keyboard writes it (RFC 8265 section 4.2.1: NFC)."""
    return unicodedata.normalize("NFC", password)


def _base64(size: int) -> str:
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    whole, rest = divmod(size * 8, 6)
    # The last digit has `rest` bits only, so it is one whose lower bits are 0.
    last = digits[secrets.randbelow(2**rest) << (6 - rest)] if rest else ""
    return "".join(secrets.choice(digits) for _ in range(whole)) + last
