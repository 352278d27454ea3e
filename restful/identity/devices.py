"""Logging in devices: a code for the device, another one that its user types (RFC 8628)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from restful import audit
from restful.audit import AuditEntry
from restful.errors import FieldError, HttpProblem
from restful.identity import current_logins, device_flow, token_answers, token_format
from restful.identity.device_flow import DeviceState, PollState
from restful.identity.login_requirement import require_login
from restful.identity.scopes import parse, write
from restful.identity.token_answers import OAuthError, TokenAnswer
from restful.identity.token_format import TokenKind
from restful.store import device_codes, users
from restful.store.device_codes import DeviceRecord
from restful.store.users import UserState

if TYPE_CHECKING:
    from restful.identity.caller import Caller
    from restful.identity.identities import Identities
    from restful.identity.principal import Principal

_ERRORS = {
    "authorization_pending": "the user has not approved the code yet",
    "slow_down": "polled too early; wait five seconds longer from now on",
    "access_denied": "the user denied the code, or his logins were ended",
    "expired_token": "the code has expired; ask for another",
    "invalid_grant": "the code was used before",
}


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """What a device gets: a code of its own, and one to show."""

    device_code: str = field(repr=False)
    user_code: str
    expires_in: int
    interval: int


async def start(identities: Identities, scope: str | None, caller: Caller) -> DeviceAnswer:
    """Return the codes for a device. Raises OAuthError if a scope is unknown, HttpProblem for too many."""
    identities.attempts.login(caller.address)
    try:
        scopes = parse(scope or "")
    except ValueError as error:
        raise OAuthError("invalid_scope", str(error)) from error
    code = identities.new_token(TokenKind.DEVICE)
    shown = device_flow.user_code(secrets.token_bytes(16))
    now = identities.now()
    poll = PollState(DeviceState.PENDING, now + device_flow.LIFETIME)
    record = DeviceRecord(token_format.digest(code), shown, caller.client, scopes, poll)
    async with identities.database.write() as connection:
        await device_codes.purge(connection, now)
        await device_codes.add(connection, record)
    return DeviceAnswer(code, shown, int(device_flow.LIFETIME), int(device_flow.INTERVAL))


async def waiting(identities: Identities, principal: Principal, typed: str) -> DeviceRecord:
    """Return what waits with a code that a user typed, with the scopes that it would get of him.

    Raises the problem `invalid` if no device waits with it.
    """
    async with identities.database.write() as connection:  # it locks the row
        found = await device_codes.by_user_code(connection, device_flow.written_code(typed))
    code = _pending(found, identities.now())
    return replace(code, scopes=principal.scopes & (code.scopes or principal.scopes))


def _pending(code: DeviceRecord | None, now: float) -> DeviceRecord:
    """Return a code that waits. Raises the problem `invalid` for any other, and where there is none."""
    if code is None or code.poll.state is not DeviceState.PENDING or now >= code.poll.expires:
        error = FieldError("/user_code", "no device waits with this code")
        raise HttpProblem("invalid", "The code is wrong, or has expired.", (error,))
    return code


async def decide(identities: Identities, principal: Principal, typed: str, *, approve: bool) -> str:
    """Approve or deny the code that a user typed; return the client's name.

    Raises the problems `invalid` if no device waits with it, `forbidden` where nobody has logged in.
    """
    require_login(principal, "log in a device")
    now = identities.now()
    async with identities.database.write() as connection:
        await current_logins.require_principal(connection, principal)
        code = _pending(await device_codes.by_user_code(connection, device_flow.written_code(typed)), now)
        state = DeviceState.APPROVED if approve else DeviceState.DENIED
        # A device gets no more than the login that approves it has.
        scopes = write(principal.scopes & (code.scopes or principal.scopes))
        await device_codes.change(connection, code.hash, state=state, user=principal.user, scopes=scopes)
        detail = audit.fields({"client": code.client})
        entry = audit.by(principal, "device.approve" if approve else "device.deny", "device", detail=detail)
        await audit.record(connection, entry, now)
    return code.client


async def poll(identities: Identities, code: str, caller: Caller) -> TokenAnswer:
    """Return the tokens of the user who approved a device's code. Raises OAuthError until then."""
    if token_format.kind_of(code) is not TokenKind.DEVICE:
        raise OAuthError("invalid_grant", "the device code is none")
    digest = token_format.digest(code)
    async with identities.database.write() as connection:
        stored = await device_codes.by_digest(connection, digest)
        if stored is None or stored.client != caller.client:
            raise OAuthError("invalid_grant", "the device code is unknown, or of another client")
        now = identities.now()
        answer = device_flow.poll(stored.poll, now)
        values = {"interval": answer.interval, "polled_at": now}
        await device_codes.change(connection, digest, **values)
        user = await users.by_id(connection, stored.user) if stored.user and not answer.error else None
        if not answer.error:
            await device_codes.change(connection, digest, state=DeviceState.USED)
            await audit.record(connection, _login(stored.user or "", caller), now)
    if answer.error:
        raise OAuthError(answer.error, _ERRORS[answer.error])
    if user is None or user.state is not UserState.ACTIVE:
        raise OAuthError("invalid_grant", "the user may not log in")
    return await token_answers.after_login(identities, user, stored.scopes, caller)


def _login(user: str, caller: Caller) -> AuditEntry:
    return AuditEntry(user, "", caller.address, "login", f"user:{user}", detail="by device code")
