"""The keys of access tokens: made, sealed, rotated and published."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc.jwk import OKPKey

from restful.identity import key_rotation
from restful.identity.access_tokens import ALGORITHM
from restful.identity.key_rotation import RotationRule
from restful.store import revision, signing_keys
from restful.store.signing_keys import SigningKeyRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from joserfc.jwk import DictKey
    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database import Database
    from restful.identity.authority import Authority
    from restful.identity.master_key import MasterKey
    from restful.identity.settings import IdentitySettings


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Signs with one key, and verifies with each that is published."""

    database: Database
    authority: Authority
    master: MasterKey
    settings: IdentitySettings
    now: Callable[[], float]

    async def signing(self) -> OKPKey:
        """Return the key that signs now; make the next one if its time has come."""
        if key_rotation.next_start(self._times(await self._loaded()), self._rule, self.now()) is not None:
            await self._rotate()
        loaded = await self._loaded()
        times = key_rotation.signing(self._times(loaded), self.now())
        assert times is not None  # noqa: S101 - the first key signs at once
        return next(key for record, key in loaded if record.times == times)

    async def public(self) -> Mapping[str, OKPKey]:
        """Return the keys with which tokens are verified, by their id."""
        loaded = await self._loaded()
        published = key_rotation.published(self._times(loaded), self.now())
        return {record.times.kid: key for record, key in loaded if record.times in published}

    async def jwks(self) -> dict[str, Any]:
        """Return the public halves as a JWK Set (RFC 7517 section 5)."""
        return {"keys": [key.as_dict(private=False) for key in (await self.public()).values()]}

    @property
    def _rule(self) -> RotationRule:
        return RotationRule(self.settings.signing_key_period, self.settings.access_lifetime)

    @staticmethod
    def _times(loaded: Sequence[tuple[SigningKeyRecord, OKPKey]]) -> list[key_rotation.KeyTimes]:
        return [record.times for record, _ in loaded]

    async def _loaded(self) -> Sequence[tuple[SigningKeyRecord, OKPKey]]:
        async def load(connection: AsyncConnection) -> Sequence[tuple[SigningKeyRecord, OKPKey]] | None:
            found = [(each, self._opened(each)) for each in await signing_keys.every(connection)]
            return found or None  # that there is none is not remembered: another replica may make the first

        return await self.authority.remember("signing keys", load) or ()

    async def _rotate(self) -> None:
        """Make a key, unless another replica has just done so."""
        async with self.database.write() as connection:
            stored = [each.times for each in await signing_keys.every(connection)]
            start = key_rotation.next_start(stored, self._rule, self.now())
            if start is not None:
                retire_at = key_rotation.retirement(start, self._rule)
                await signing_keys.add(connection, self._made(start), retire_at)
                await signing_keys.purge(connection, self.now())
                await revision.raise_it(connection)
        self.authority.forget()

    def _made(self, start: float) -> SigningKeyRecord:
        key = OKPKey.generate_key("Ed25519", private=True)
        kid = key.thumbprint()
        secret = cast(str, key.as_dict(private=True)["d"])
        sealed = self.master.seal(_bytes(secret), _name(kid))
        return SigningKeyRecord(key_rotation.KeyTimes(kid, start), ALGORITHM, sealed)

    def _opened(self, record: SigningKeyRecord) -> OKPKey:
        kid = record.times.kid
        private = Ed25519PrivateKey.from_private_bytes(self.master.open(record.private, _name(kid)))
        members: DictKey = {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": _text(private.public_key().public_bytes_raw()),
            "d": _text(private.private_bytes_raw()),
            "kid": kid,
            "alg": record.alg,
            "use": "sig",
        }
        return OKPKey.import_key(members)


def _name(kid: str) -> str:
    return f"signing key {kid}"


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
