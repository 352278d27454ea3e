"""Logins at an OpenID provider: its metadata, keys and tokens are asked for, and its users linked."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from restful import audit
from restful.audit import AuditEntry
from restful.identity import linked_users, oidc
from restful.identity.master_key import MasterKeyError
from restful.identity.oidc import Attempt, OidcError
from restful.identity.refused_logins import RefusedLogin
from restful.store.users import UserState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.identity.identities import Identities
    from restful.identity.oidc import Endpoints, OidcSubject, Provider
    from restful.store.users import UserRecord

MAX_ANSWER = 256 * 1024
"""Bytes of what a provider answers."""
METADATA_LIFETIME = 600.0
"""Seconds for which a provider's metadata are believed without asking again."""
TIMEOUT = 5.0
"""Seconds for each answer of a provider: a user waits for it."""
CONNECTIONS = 8
"""To a provider at once; who comes when all are taken is refused after the timeout."""
_SEAL = "oidc attempt"


def http_client() -> httpx2.AsyncClient:
    """Return the client with which a provider is asked."""
    limits = httpx2.Limits(max_connections=CONNECTIONS)
    return httpx2.AsyncClient(timeout=TIMEOUT, limits=limits, follow_redirects=False)


@dataclass(frozen=True, slots=True)
class OidcLogins:
    """Logs in users of one provider."""

    identities: Identities
    provider: Provider
    http: httpx2.AsyncClient
    """With its timeouts; it must not follow redirects."""
    _remembered: list[tuple[float, Endpoints]] = field(default_factory=list)
    """When the provider's metadata were asked for last, and what they state."""

    async def begin(self, page: str) -> tuple[str, str]:
        """Return where the browser goes, and what it keeps as a cookie until it comes back."""
        attempt = Attempt(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            expires=self.identities.now() + oidc.ATTEMPT_LIFETIME,
            page=oidc.page_within(page),
        )
        sealed = self.identities.master.seal(attempt.packed(), _SEAL)
        where = await self._endpoints()
        return oidc.authorization_url(self.provider, where, attempt), base64.urlsafe_b64encode(
            sealed
        ).decode()

    async def finish(self, query: Mapping[str, str], kept: str, address: str) -> tuple[UserRecord, str]:
        """Return the user who came back, and the page he goes to. Raises OidcError."""
        try:
            return await self._finished(query, kept, address)
        except OidcError as error:
            await self.identities.refusals.note(RefusedLogin("provider", str(error), address, error.user))
            raise

    async def _finished(self, query: Mapping[str, str], kept: str, address: str) -> tuple[UserRecord, str]:
        attempt = self._opened(kept)
        where = await self._endpoints()
        code = oidc.code_of(self.provider, where, attempt, query, self.identities.now())
        answer = await self._exchanged(where, code, attempt.verifier)
        id_token = answer.get("id_token")
        if not isinstance(id_token, str):
            raise OidcError("the provider gave no ID token")
        keys = (await self._json("GET", where.jwks)).get("keys")
        known = [each for each in keys if isinstance(each, dict)] if isinstance(keys, list) else []
        now = self.identities.now()
        subject = oidc.verified(self.provider, id_token, known, attempt.nonce, now)
        if not subject.name:
            subject = await self._named(where, subject, answer.get("access_token"))
        return await self._linked(subject, address), attempt.page

    async def _endpoints(self) -> Endpoints:
        """Return where the provider is asked. Who sends us many requests does not send it as many."""
        now = self.identities.now()
        if self._remembered and 0 <= now - self._remembered[0][0] < METADATA_LIFETIME:
            return self._remembered[0][1]
        url = f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = oidc.endpoints(self.provider, await self._json("GET", url))
        self._remembered[:] = [(now, found)]
        return found

    async def _named(self, where: Endpoints, subject: OidcSubject, token: object) -> OidcSubject:
        """Return a user with his name, where the ID token has only his subject, as the standard has it."""
        if not where.userinfo or not isinstance(token, str):
            return subject
        headers = {"Authorization": f"Bearer {token}"}
        return oidc.named(self.provider, subject, await self._json("GET", where.userinfo, headers=headers))

    async def _exchanged(self, where: Endpoints, code: str, verifier: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.provider.redirect_uri,
            "code_verifier": verifier,
        }
        client = (self.provider.client_id, self.provider.client_secret)
        return await self._json("POST", where.token, data=form, auth=client)

    async def _json(self, method: str, url: str, **sent: Any) -> dict[str, Any]:
        try:
            answer = await self.http.request(method, url, **sent)
            content = (
                answer.json() if answer.status_code == 200 and len(answer.content) < MAX_ANSWER else None
            )
        except (httpx2.HTTPError, ValueError) as error:
            raise OidcError("the provider cannot be reached now, or answered no JSON") from error
        if not isinstance(content, dict):
            raise OidcError(f"the provider answered {answer.status_code} in place of JSON")
        return content

    def _opened(self, kept: str) -> Attempt:
        try:
            sealed = base64.urlsafe_b64decode(kept)
            return Attempt.unpacked(self.identities.master.open(sealed, _SEAL))
        except (binascii.Error, ValueError, MasterKeyError) as error:
            raise OidcError("this browser has no login under way; try again") from error

    async def _linked(self, subject: OidcSubject, address: str) -> UserRecord:
        name = linked_users.name_from_provider(subject.issuer, subject.subject, subject.name)
        identities = self.identities
        user = await linked_users.find_or_make(identities, subject.issuer, subject.subject, name, address)
        if user is None:
            raise OidcError(f"the name {name} is somebody else's here; ask an admin")
        if user.state is not UserState.ACTIVE:
            raise OidcError("the user may not log in", user.id)
        entry = AuditEntry(user.id, "", address, "login", f"user:{user.id}", detail="by provider")
        async with identities.database.write() as connection:
            await audit.record(connection, entry, identities.now())
        return user
