"""What the metrics adapter needs to ask lead brokers, and nothing that would let it do more.

The operator derives the key from its own (`LeadAuthority.metrics`) and keeps it in a Secret of its own, which
the adapter may read: with it the adapter knows each door, and each door's token for metrics, but not the
token by which the operator gives orders.
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
    """The authority that signs the doors' certificates (PEM), and the key of their tokens for metrics."""

    authority: str
    key: bytes = field(repr=False)

    @classmethod
    def derive(cls, authority: str, token_key: bytes) -> Self:
        """Return those that belong to an operator's own token key, which cannot be had from them."""
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
        """Return the token for metrics that the door of the MiniCluster with this UID asks for."""
        return hmac.new(self.key, uid.encode(), hashlib.sha256).hexdigest()

    def trust(self) -> ssl.SSLContext:
        """Return what trusts in the doors of this operator's MiniClusters, and in nobody else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.authority)
        return context
