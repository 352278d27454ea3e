"""Which user the annotation `owner` of a MiniCluster means.

An example. Mallory's provider lets her choose what she is called, and she chooses `alice`. Here she is
`oidc:alice` then, and what the owner `alice` has is not hers. Nor is that of `oidc:alice`: a provider's users
are owners by what they cannot choose, as `https://id.example#248289761001`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from restful.identity.linked_users import is_from_provider
from restful.store import users

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

IDENTITY = "#"
"""Between issuer and subject; an issuer has none (OpenID Connect Core 1.0 section 2)."""


async def owner_id(connection: AsyncConnection, owner: str) -> str | None:
    """Return the id of the user whom a text means; None where it means nobody."""
    issuer, identity, subject = owner.partition(IDENTITY)
    if identity:
        user = await users.by_identity(connection, issuer, subject)
    else:
        user = None if is_from_provider(owner) else await users.by_name(connection, owner)
    return None if user is None else user.id


def no_owner(owner: str) -> str:
    """Return why a text means nobody, for who has written it."""
    if is_from_provider(owner):
        return f"its owner {owner!r} has chosen that name himself: name him by ISSUER{IDENTITY}SUBJECT"
    return f"its owner {owner!r} is no user here: only who is granted it may use it"
