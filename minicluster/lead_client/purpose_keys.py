"""The keys by which a service asks lead servers for one purpose, and can do nothing else there.

The operator derives one for each purpose from its own (`LeadAuthority.purpose`), and stores those of each
in a Secret, which one service may read. With it the service can verify each lead server, and
make its token for that purpose. No other token can be derived from it.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from minicluster.kube_client.resources import SECRETS
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_server.purposes import BURST, JOBS, METRICS
from minicluster.plan.constants import LABEL_NAME, OPERATOR_APPLICATION

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object

__all__ = ["BURST", "JOBS", "METRICS", "PurposeKeys", "secret_name"]
PUBLISHED = (METRICS, JOBS, BURST)
AUTHORITY_FILE = "ca.crt"
KEY_BYTES = 32


def secret_name(purpose: str) -> str:
    """Return the name of the Secret with a purpose's keys, in the operator's namespace."""
    return f"minicluster-{purpose}"


@dataclass(frozen=True, slots=True)
class PurposeKeys:
    """The keys of one purpose."""

    purpose: str
    authority: str
    """The authority that signs the lead servers' certificates (PEM)."""
    key: bytes = field(repr=False)
    """The key of their tokens for this purpose."""

    @classmethod
    def derive(cls, purpose: str, authority: str, token_key: bytes, generation: int = 1) -> Self:
        """Return those that belong to an operator's own token key, which cannot be computed from them.

        Each generation has others.
        """
        text = purpose if generation == 1 else f"{purpose}/{generation}"
        return cls(purpose, authority, hmac.new(token_key, text.encode(), hashlib.sha256).digest())

    @classmethod
    def of_secret(cls, purpose: str, item: Object) -> Self:
        """Return those in the operator's Secret. Raises LeadKeysError."""
        try:
            data = {name: b64decode(text) for name, text in (item.get("data") or {}).items()}
            key = bytes.fromhex(data[_key_file(purpose)].decode())
            found = cls(purpose, data[AUTHORITY_FILE].decode(), key)
            found.trust()
        except KeyError as error:
            raise LeadKeysError(f"{error.args[0]} is missing") from None
        except (Base64Error, ValueError, ssl.SSLError):
            raise LeadKeysError("they are damaged") from None  # what was found there is not quoted
        if len(found.key) < KEY_BYTES:
            raise LeadKeysError("they are damaged")
        return found

    def secret(self, namespace: str) -> Object:
        """Return the Secret in which the operator keeps them for the service."""
        files = {AUTHORITY_FILE: self.authority, _key_file(self.purpose): self.key.hex()}
        return {
            "apiVersion": SECRETS.version,
            "kind": SECRETS.kind,
            "metadata": {
                "name": secret_name(self.purpose),
                "namespace": namespace,
                "labels": {LABEL_NAME: OPERATOR_APPLICATION},
            },
            "type": "Opaque",
            "data": {name: b64encode(text.encode()).decode() for name, text in files.items()},
        }

    def token(self, uid: str) -> str:
        """Return the token for this purpose that the lead of the MiniCluster with this UID accepts."""
        return hmac.new(self.key, uid.encode(), hashlib.sha256).hexdigest()

    def trust(self) -> ssl.SSLContext:
        """Return a TLS context that accepts the lead servers of this operator's MiniClusters alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.authority)
        return context


def _key_file(purpose: str) -> str:
    return f"{purpose}.key"
