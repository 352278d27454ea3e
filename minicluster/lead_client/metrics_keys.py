"""The keys by which the metrics adapter reads the metrics of lead servers, and can do nothing else.

The operator derives the key from its own (`LeadAuthority.metrics`) and stores it in a Secret that the adapter
may read. With it the adapter can verify each lead server and make its token for metrics. The token for the
operator's commands cannot be derived from it.
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
from minicluster.plan.constants import LABEL_NAME, OPERATOR_APPLICATION

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object

SECRET = "minicluster-metrics"  # noqa: S105  # a Secret's name
AUTHORITY_FILE = "ca.crt"
KEY_FILE = "metrics.key"
KEY_BYTES = 32
PURPOSE = b"metrics"


@dataclass(frozen=True, slots=True)
class MetricsKeys:
    """The keys of the metrics adapter."""

    authority: str
    """The authority that signs the lead servers' certificates (PEM)."""
    key: bytes = field(repr=False)
    """The key of their tokens for metrics."""

    @classmethod
    def derive(cls, authority: str, token_key: bytes) -> Self:
        """Return those that belong to an operator's own token key, which cannot be computed from them."""
        return cls(authority, hmac.new(token_key, PURPOSE, hashlib.sha256).digest())

    @classmethod
    def of_secret(cls, item: Object) -> Self:
        """Return those in the operator's Secret. Raises LeadKeysError."""
        try:
            data = {name: b64decode(text) for name, text in (item.get("data") or {}).items()}
            found = cls(data[AUTHORITY_FILE].decode(), bytes.fromhex(data[KEY_FILE].decode()))
            found.trust()
        except KeyError as error:
            raise LeadKeysError(f"{error.args[0]} is missing") from None
        except (Base64Error, ValueError, ssl.SSLError):
            raise LeadKeysError("they are damaged") from None  # what was found there is not quoted
        if len(found.key) < KEY_BYTES:
            raise LeadKeysError("they are damaged")
        return found

    def secret(self, namespace: str) -> Object:
        """Return the Secret in which the operator keeps them for the adapter."""
        files = {AUTHORITY_FILE: self.authority, KEY_FILE: self.key.hex()}
        return {
            "apiVersion": SECRETS.version,
            "kind": SECRETS.kind,
            "metadata": {
                "name": SECRET,
                "namespace": namespace,
                "labels": {LABEL_NAME: OPERATOR_APPLICATION},
            },
            "type": "Opaque",
            "data": {name: b64encode(text.encode()).decode() for name, text in files.items()},
        }

    def token(self, uid: str) -> str:
        """Return the token for metrics that the lead server of the MiniCluster with this UID accepts."""
        return hmac.new(self.key, uid.encode(), hashlib.sha256).hexdigest()

    def trust(self) -> ssl.SSLContext:
        """Return a TLS context that accepts the lead servers of this operator's MiniClusters alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.authority)
        return context
