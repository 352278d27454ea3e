"""Users whom an authenticator knows: found again by (issuer, subject), and made at their first login."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from restful import audit
from restful.audit import AuditEntry
from restful.identity.principal import Role
from restful.store import users
from restful.store.users import UserKind, UserRecord, UserState

if TYPE_CHECKING:
    from restful.identity.identities import Identities

NAME = re.compile(r"[a-z_][a-z0-9_.@-]{0,62}")


async def find_or_make(
    identities: Identities, issuer: str, subject: str, name: str, address: str
) -> UserRecord | None:
    """Return the user with a subject at an issuer, who is made, with a name, if he comes for the first time.

    None if that name is taken: who has it was made by an admin, or comes from elsewhere.
    """
    async with identities.database.read() as connection:
        found = await users.by_identity(connection, issuer, subject)
    if found is not None:
        return found
    user = UserRecord(
        id=identities.new_id(),
        name=name,
        kind=UserKind.USER,
        role=Role.USER,
        state=UserState.ACTIVE,
        epoch=0,
        created=identities.now(),
    )
    try:
        async with identities.change() as connection:
            await users.add(connection, user)
            await users.link(connection, issuer, subject, user.id)
            detail = audit.fields({"name": user.name, "issuer": issuer})
            entry = AuditEntry(user.id, "", address, "user.create", f"user:{user.id}", detail=detail)
            await audit.record(connection, entry, identities.now())
    except IntegrityError:
        return None
    return user
