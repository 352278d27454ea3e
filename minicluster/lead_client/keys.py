"""The operator's own keys, by which it and the lead servers authenticate each other.

One authority signs the certificate of every lead server, for a name with the MiniCluster's UID. One key makes
the token of every lead server from that UID. So the operator can call each lead without reading any
MiniCluster's Secret. Both are made once, and stored (`key_store`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from minicluster.kube_client import certificates
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.purpose_keys import METRICS, PurposeKeys
from minicluster.lead_server.purposes import PURPOSES
from minicluster.plan import LeadKeys, lead_dns_name
from minicluster.plan.objects.keys import FIRST_GENERATIONS, Generations

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Mapping

AUTHORITY_FILE = "ca.crt"
AUTHORITY_KEY_FILE = "ca.key"
TOKEN_KEY_FILE = "token.key"  # noqa: S105  # a file's name
FILES = (AUTHORITY_FILE, AUTHORITY_KEY_FILE, TOKEN_KEY_FILE)
TOKEN_KEY_BYTES = 32

# A MiniCluster's Secret never changes, so its certificate is as good as its authority's, and that one for
# longer than anything runs. A clock that was set back does no harm.
LIFE = timedelta(days=365 * 30)
SKEW = timedelta(days=1)
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minicluster-operator")])
_PEM = serialization.Encoding.PEM


class LeadAuthority:
    """Signs the lead servers' certificates and makes their tokens. Its repr shows nothing of its keys."""

    __slots__ = ("_certificate", "_key", "_token_key")

    def __init__(
        self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, token_key: bytes
    ) -> None:
        self._certificate = certificate
        self._key = key
        self._token_key = token_key

    @classmethod
    def make(cls, now: datetime | None = None) -> Self:
        """Make a new one."""
        now = now or datetime.now(UTC)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _certificate(_NAME, key, now - SKEW, now + LIFE)
        builder = certificates.for_authority(builder)
        return cls(builder.sign(key, hashes.SHA256()), key, secrets.token_bytes(TOKEN_KEY_BYTES))

    @classmethod
    def load(cls, files: Mapping[str, str]) -> Self:
        """Return the one that was stored as these files. Raises LeadKeysError."""
        try:
            certificate = x509.load_pem_x509_certificate(files[AUTHORITY_FILE].encode())
            key = serialization.load_pem_private_key(files[AUTHORITY_KEY_FILE].encode(), None)
            public_key = certificate.public_key()
            token_key = bytes.fromhex(files[TOKEN_KEY_FILE])
        except KeyError as error:
            raise LeadKeysError(f"{error.args[0]} is missing") from None
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise LeadKeysError("they are damaged") from None  # the library's words may quote them
        if len(token_key) < TOKEN_KEY_BYTES:
            raise LeadKeysError("they are damaged")  # a short key can be guessed, and with it every token
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != public_key:
            raise LeadKeysError(f"{AUTHORITY_KEY_FILE} is not the key of {AUTHORITY_FILE}")
        return cls(certificate, key, token_key)

    def files(self) -> dict[str, str]:
        """Return the files that are stored. They are secret."""
        return {
            AUTHORITY_FILE: self._certificate.public_bytes(_PEM).decode(),
            AUTHORITY_KEY_FILE: certificates.private_text(self._key),
            TOKEN_KEY_FILE: self._token_key.hex(),
        }

    def issue(
        self, uid: str, hosts: Iterable[str] = (), generations: Generations = FIRST_GENERATIONS
    ) -> LeadKeys:
        """Return fresh keys for the lead server of a MiniCluster, whose lead has these DNS names.

        The tokens are those of these generations.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minicluster-door")])
        begin, end = self._certificate.not_valid_before_utc, self._certificate.not_valid_after_utc
        builder = _certificate(subject, key, begin, end, self._key)
        certificate = certificates.for_server(builder, [lead_dns_name(uid), *hosts]).sign(
            self._key, hashes.SHA256()
        )
        tokens = {
            each.file_name: self.purpose(each.name, generations.of(each.name)).token(uid)
            for each in PURPOSES.values()
        }
        return LeadKeys(
            certificate.public_bytes(_PEM).decode(),
            certificates.private_text(key),
            self.token(uid),
            tokens[PURPOSES[METRICS].file_name],
            tokens,
        )

    def token(self, uid: str) -> str:
        """Return the token that the lead server of this MiniCluster accepts."""
        return hmac.new(self._token_key, uid.encode(), hashlib.sha256).hexdigest()

    def purpose(self, purpose: str, generation: int = 1) -> PurposeKeys:
        """Return the keys that are derived for a purpose."""
        authority = self._certificate.public_bytes(_PEM).decode()
        return PurposeKeys.derive(purpose, authority, self._token_key, generation)

    def trust(self) -> ssl.SSLContext:
        """Return a TLS context that accepts the lead servers of this operator's MiniClusters alone."""
        return self.purpose(METRICS).trust()


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    begin: datetime,
    end: datetime,
    signer: ec.EllipticCurvePrivateKey | None = None,
) -> x509.CertificateBuilder:
    """Begin a certificate that the authority signs, or if there is no `signer` yet, that of the authority."""
    signed_by = (signer or key).public_key()
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signed_by)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(identifier, critical=False)
        .add_extension(issuer, critical=False)
    )
