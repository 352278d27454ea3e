"""What routes need to know who asks: one record."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.database import new_id
from restful import audit
from restful.identity import access_tokens, token_format
from restful.identity.access_tokens import AccessClaims, TokenAudience
from restful.identity.attempts import Attempts
from restful.identity.authority import Authority
from restful.identity.keys import SigningKeys
from restful.identity.passwords import Passwords
from restful.identity.refused_logins import RefusedLogins
from restful.identity.scopes import effective
from restful.store import revision

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from restful.audit import AuditEntry
    from restful.identity.authenticators import PasswordAuthenticator
    from restful.identity.master_key import MasterKey
    from restful.identity.settings import IdentitySettings
    from restful.identity.token_format import TokenKind
    from restful.store.users import UserRecord

CHANNEL = "identity"
"""Where changes are announced to other replicas."""


def ignore(_outcome: str) -> None:
    """Do nothing: nobody counts logins."""


@dataclass(frozen=True, slots=True)
class Identities:
    """Users, their credentials and rights; `open_identities` makes it."""

    database: Database
    settings: IdentitySettings
    now: Callable[[], float]
    """Epoch seconds."""
    master: MasterKey
    passwords: Passwords
    authority: Authority
    keys: SigningKeys
    attempts: Attempts
    """Requests of those who have not shown who they are."""
    refusals: RefusedLogins
    """Logins that were refused, on their way to the audit log."""
    authenticators: tuple[PasswordAuthenticator, ...] = ()
    """Who else knows passwords."""
    observe: Callable[[str], None] = ignore
    """Called with how each login by a password has ended, one of `logins.OUTCOMES`."""

    @property
    def audience(self) -> TokenAudience:
        """Who issues access tokens, and for whom."""
        return TokenAudience(self.settings.issuer, self.settings.audience)

    def new_token(self, kind: TokenKind) -> str:
        """Return a new token."""
        return token_format.write(kind, secrets.token_bytes(token_format.SECRET_BYTES))

    def new_id(self) -> str:
        """Return a new id."""
        return new_id(self.now())

    @contextlib.asynccontextmanager
    async def change(self) -> AsyncIterator[AsyncConnection]:
        """Give a write transaction for a change of what replicas remember; they see it in two seconds."""
        async with self.database.write() as connection:
            yield connection
            await revision.raise_it(connection)
            await self.database.notify(connection, CHANNEL)
        self.authority.forget()

    async def record(self, entry: AuditEntry) -> None:
        """Append to the audit log what changes nothing else, such as a refusal."""
        async with self.database.write() as connection:
            await audit.record(connection, entry, self.now())

    async def access_token(self, user: UserRecord, session: str, scopes: frozenset[str], client: str) -> str:
        """Return an access token of a user, with those of the scopes that he has now."""
        now = self.now()
        claims = AccessClaims(
            user=user.id,
            session=session,
            scopes=effective(scopes, user.role),
            epoch=user.epoch,
            id=self.new_id(),
            client=client,
            issued=now,
            expires=now + self.settings.access_lifetime,
        )
        return access_tokens.issue(claims, self.audience, await self.keys.signing())

    async def watch(self) -> None:
        """Forget at once what another replica announces as changed; for a task of its own, without an end."""
        seen = None
        while True:
            seen = await self.database.changed(CHANNEL, seen)
            self.authority.forget()


def open_identities(
    database: Database,
    settings: IdentitySettings,
    now: Callable[[], float],
    master: MasterKey,
    authenticators: tuple[PasswordAuthenticator, ...] = (),
    observe: Callable[[str], None] = ignore,
) -> Identities:
    """Return the record for an open database."""
    authority = Authority(database, now, settings.revision_interval)
    return Identities(
        database=database,
        settings=settings,
        now=now,
        master=master,
        passwords=Passwords(settings),
        authority=authority,
        keys=SigningKeys(database, authority, master, settings, now),
        attempts=Attempts(settings, now),
        refusals=RefusedLogins(database, now),
        authenticators=authenticators,
        observe=observe,
    )
