"""Users whom an authenticator knows: found again by (issuer, subject), and made at their first login."""

from __future__ import annotations

import hashlib
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
"""What users are called whom an admin makes, or whom the machine has as an account."""
PROVIDER_PREFIX = "oidc:"
"""What a provider's users are called begins so. There they may choose their names; here such a name must not
be that of an account of the machine, or of whom an admin has made. Neither has a colon (passwd(5))."""
NAME_LENGTH = 63


def name_from_provider(issuer: str, subject: str, stated: str) -> str:
    """Return what a provider's user is called here: as there, or a digest if that is no name or too long."""
    name = stated.lower()
    if NAME.fullmatch(name) is None or len(PROVIDER_PREFIX + name) > NAME_LENGTH:
        digest = hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()
        name = f"0{digest[:12]}"  # no name that is stated begins with a digit
    return PROVIDER_PREFIX + name


def is_from_provider(name: str) -> bool:
    """Return whether a name may have been chosen by its user, at a provider."""
    return name.startswith(PROVIDER_PREFIX)


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
