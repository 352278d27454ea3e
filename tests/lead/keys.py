"""Certificates and tokens for lead servers, from an authority of the tests' own."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

NAME = "5e0b.door.minicluster"
DAY = datetime.timedelta(days=1)


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass
class Authority:
    """Signs certificates of lead servers."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=_key)

    @property
    def certificate(self) -> str:
        return self._signed("authority", self.key, x509.BasicConstraints(True, None))

    def _signed(self, name: str, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType) -> str:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, folder: Path, name: str) -> None:
        """Write a certificate, its key and its authority, as in a Secret for TLS."""
        key = _key()
        folder.mkdir(exist_ok=True)
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "tls.crt").write_text(self._signed(name, key, names))
        (folder / "tls.key").write_bytes(private)
        (folder / "ca.crt").write_text(self.certificate)

    def write(self, directory: Path, name: str = NAME) -> str:
        """Write a lead server's files; return its token, which differs from that for metrics."""
        key = _key()
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        token = secrets.token_hex(32)
        directory.mkdir(exist_ok=True)
        (directory / "door.crt").write_text(self._signed(name, key, names))
        (directory / "door.key").write_bytes(private)
        (directory / "door.token").write_text(f"{token}\n")
        (directory / "metrics.token").write_text(f"{secrets.token_hex(32)}\n")
        return token
