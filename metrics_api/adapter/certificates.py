"""The adapter's certificate, and the authority that signs it. The adapter makes and replaces both.

The API server trusts the authorities in `caBundle`. A new authority is added to the former one there before
a certificate of it is used. So no connection fails while replicas change over one after another.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from minicluster.kube_client import certificates

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence

AUTHORITY_FILE = "ca.crt"
KEY_FILE = "ca.key"
FORMER_FILE = "former.crt"
FILES = (AUTHORITY_FILE, KEY_FILE, FORMER_FILE)
SKEW = timedelta(hours=1)
"""How much earlier than now a certificate becomes valid, as clocks differ."""
_PEM = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class Lives:
    """How long certificates are valid. Each is replaced when a third of that is left."""

    authority: timedelta = timedelta(days=730)
    serving: timedelta = timedelta(days=60)


LIVES = Lives()


@dataclass(frozen=True, slots=True)
class Serving:
    """The server's certificate and key as PEM texts, and the certificate's end."""

    certificate: str
    key: str = field(repr=False)
    begin: datetime
    """From when it is valid."""
    end: datetime
    """Until when."""

    def load(self, context: ssl.SSLContext) -> None:
        """Use this certificate for a context's new connections."""
        with tempfile.TemporaryDirectory() as folder:  # the ssl module reads keys from files only; 0700
            file = Path(folder, "serving.pem")
            file.touch(mode=0o600)
            file.write_text(self.certificate + self.key, encoding="ascii")
            context.load_cert_chain(file)

    def is_due(self, now: datetime) -> bool:
        """Return whether it is time for the next one."""
        return _is_due(self.begin, self.end, now)


@dataclass(frozen=True, slots=True)
class AdapterAuthority:
    """The authority, and the certificate (PEM) of the former one, as long as that may be needed."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    former: str = ""

    @classmethod
    def make(
        cls, now: datetime, lives: Lives = LIVES, former: AdapterAuthority | None = None
    ) -> AdapterAuthority:
        """Make a new authority, which keeps the former one's certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        # Each authority has its own name: of two with equal ones, OpenSSL would take the wrong one.
        name = f"minicluster-metrics-adapter {x509.random_serial_number():x}"[:64]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _begin(subject, subject, key, (now - SKEW, now + lives.authority))
        builder = certificates.for_authority(builder)
        pem = former.certificate.public_bytes(_PEM).decode() if former is not None else ""
        return cls(builder.sign(key, hashes.SHA256()), key, pem)

    @classmethod
    def load(cls, files: Mapping[str, str]) -> AdapterAuthority | None:
        """Read an authority from stored files; None if they are damaged, so that it is replaced."""
        try:
            certificate = x509.load_pem_x509_certificate(files[AUTHORITY_FILE].encode())
            key = serialization.load_pem_private_key(files[KEY_FILE].encode(), None)
            former = files.get(FORMER_FILE, "")
            if former:
                x509.load_pem_x509_certificate(former.encode())
            same = key.public_key() == certificate.public_key()
        except (KeyError, ValueError, TypeError, UnsupportedAlgorithm):
            return None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not same:
            return None
        return cls(certificate, key, former)

    @property
    def bundle(self) -> str:
        """The certificates that clients trust: of this authority and of the former one."""
        return self.certificate.public_bytes(_PEM).decode() + self.former

    def files(self) -> dict[str, str]:
        """Return the files to store. They are secret."""
        return {
            AUTHORITY_FILE: self.certificate.public_bytes(_PEM).decode(),
            KEY_FILE: certificates.private_text(self.key),
            FORMER_FILE: self.former,
        }

    def is_due(self, now: datetime) -> bool:
        """Return whether it is time for the next one."""
        begin = self.certificate.not_valid_before_utc + SKEW
        return _is_due(begin, self.certificate.not_valid_after_utc, now)

    def has_signed(self, serving: Serving) -> bool:
        """Return whether this authority has signed a certificate."""
        found = x509.load_pem_x509_certificate(serving.certificate.encode())
        return found.issuer == self.certificate.subject

    def issue(self, names: Sequence[str], now: datetime, lives: Lives = LIVES) -> Serving:
        """Return a certificate for a server of these DNS names."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minicluster-metrics-adapter")])
        end = min(now + lives.serving, self.certificate.not_valid_after_utc)
        builder = _begin(subject, self.certificate.subject, key, (now - SKEW, end))
        certificate = certificates.for_server(builder, names).sign(self.key, hashes.SHA256())
        private = certificates.private_text(key)
        return Serving(certificate.public_bytes(_PEM).decode(), private, now, end)


def _is_due(begin: datetime, end: datetime, now: datetime) -> bool:
    return now >= end - (end - begin) / 3


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    life: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(life[0].astimezone(UTC))
        .not_valid_after(life[1].astimezone(UTC))
    )
