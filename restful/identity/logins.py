"""Logging in with a name and a password, and waiting after wrong ones."""

from __future__ import annotations

import hmac
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.errors import HttpProblem
from restful.identity import backoff, current_logins, linked_users
from restful.identity.addresses import counted_as
from restful.identity.passwords import PasswordCheck
from restful.identity.refused_logins import RefusedLogin
from restful.store import login_failures, sessions, users
from restful.store.login_failures import FailureKey
from restful.store.users import UserState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.store.users import UserRecord

REFUSED = "The name or the password is wrong, or the user may not log in."
"""The same words whichever it is."""
NAME_LENGTH = 63
OUTCOMES = ("ok", "denied", "delayed", "busy")
"""How a login may end: as `denied` for a wrong name or password, as `delayed` while it has to wait."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    user: UserRecord | None
    keys: Sequence[FailureKey]
    """What its failures are counted by."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    user: UserRecord | None
    reason: str = ""
    """Why there is none."""


async def authenticate(identities: Identities, name: str, password: str, caller: Caller) -> UserRecord | None:
    """Return the user with a name and a password, or None.

    Raises the problems `busy`, and `too-many-requests` with the seconds to wait.
    """
    try:
        identities.passwords.require_room()  # before it counts as an attempt, as nothing comes of it
        identities.attempts.login(caller.address)
        verdict = await _authenticated(identities, name, password, caller)
    except HttpProblem as problem:
        identities.observe("busy" if problem.type == "busy" else "delayed")
        if problem.type != "busy":
            await _note(identities, name, caller, "has to wait")
        raise
    identities.observe("denied" if verdict.reason else "ok")
    if verdict.reason:
        await _note(identities, name, caller, verdict.reason)
    return verdict.user


async def _note(identities: Identities, name: str, caller: Caller, reason: str) -> None:
    """Record a refusal with its user, or a digest of a name that nobody has."""
    async with identities.database.read() as connection:
        user = await users.by_name(connection, name) if len(name) <= NAME_LENGTH else None
    digest = f"#{_digest(identities, name)[:8]}"
    tried = user.id if user is not None else ""
    await identities.refusals.note(RefusedLogin("password", reason, caller.address, tried, digest))


async def _authenticated(identities: Identities, name: str, password: str, caller: Caller) -> _Verdict:
    async with identities.passwords.slot():
        attempt = await _count(identities, name, caller)
        stored = attempt.user.password if attempt.user is not None else None
        check = await identities.passwords.check(stored, password)
        new = await identities.passwords.hash(password) if check.outdated else None
    if not check.right:
        attempt, check = await _elsewhere(identities, attempt, name, password, caller)
    async with identities.database.write() as connection:
        return await _finish(identities, connection, attempt, check, new, caller)


async def _elsewhere(
    identities: Identities, attempt: _Attempt, name: str, password: str, caller: Caller
) -> tuple[_Attempt, PasswordCheck]:
    """Ask the authenticators, unless the user has a password here. No name with a NUL: C ends texts there."""
    refused = PasswordCheck(right=False)
    has_password = attempt.user is not None and attempt.user.password is not None
    if has_password or linked_users.NAME.fullmatch(name) is None or "\0" in password:
        return attempt, refused
    for each in identities.authenticators:
        if await each.authenticate(name, password):
            user = await linked_users.find_or_make(identities, each.issuer, name, name, caller.address)
            if user is not None:
                # As he was when the password was sent: what was changed while it was compared counts.
                known = attempt.user if attempt.user is not None and attempt.user.id == user.id else user
                return _Attempt(known, attempt.keys), PasswordCheck(right=True)
    return attempt, refused


async def _count(identities: Identities, name: str, caller: Caller) -> _Attempt:
    """Count an attempt before its password is checked."""
    async with identities.database.write() as connection:
        user = await users.by_name(connection, name) if len(name) <= NAME_LENGTH else None
        keys = await _keys(connection, user, _digest(identities, name), caller.address)
        counts = {key: await login_failures.read(connection, key) for key in keys}
        now = identities.now()
        seconds = max(backoff.wait(failures, now) for failures in counts.values())
        if seconds == 0:
            for key, failures in counts.items():
                await login_failures.write(connection, key, backoff.counted(failures, now))
            await login_failures.purge(connection, now - backoff.FORGET_AFTER)
            return _Attempt(user, keys)
    raise waiting(seconds)


async def _keys(
    connection: AsyncConnection, user: UserRecord | None, name: str, address: str
) -> Sequence[FailureKey]:
    """Return what failures are counted by: where its user was before, a name is counted apart."""
    network = counted_as(address)
    if user is not None and network and await sessions.known_network(connection, user.id, network):
        return [FailureKey(name, network)]
    # Always in this order: two transactions that lock both must not wait for each other.
    return [FailureKey("", network), FailureKey(name, "")]


def _digest(identities: Identities, name: str) -> str:
    """Return what a name is counted as: a digest, as people type passwords there."""
    key = identities.master.derived("login failures")
    return hmac.digest(key, name.encode("utf-8", "replace"), "sha256")[:20].hex()


async def _finish(
    identities: Identities,
    connection: AsyncConnection,
    attempt: _Attempt,
    check: PasswordCheck,
    new: str | None,
    caller: Caller,
) -> _Verdict:
    user, now = attempt.user, identities.now()
    current = user is not None and await current_logins.is_current(connection, user)
    good = current and check.right
    for key in attempt.keys:
        failures = await login_failures.read(connection, key)
        if not good:
            failures = backoff.failed(failures, now)
        else:
            failures = backoff.LoginFailures() if key.name else backoff.forgiven(failures, now)
        await login_failures.write(connection, key, failures)
    if user is None or not good:
        return _Verdict(None, _reason(user, check))
    if new is not None:
        await users.change(connection, user.id, {"password": new}, end=False)
    entry = AuditEntry(user.id, "", caller.address, "login", f"user:{user.id}", detail="by password")
    await audit.record(connection, entry, now)
    return _Verdict(user)


def _reason(user: UserRecord | None, check: PasswordCheck) -> str:
    """Return why a login was refused."""
    if not check.right or user is None:
        return "password"
    return "changed meanwhile" if user.state is UserState.ACTIVE else f"state {user.state}"


def waiting(seconds: float) -> HttpProblem:
    """Return the problem of a login that has to wait."""
    whole = math.ceil(seconds)
    return HttpProblem(
        "too-many-requests",
        f"Too many logins failed; the next is accepted in {whole} s.",
        headers={"Retry-After": str(whole)},
    )
