"""The common parts of the certificates of lead servers and of the metrics adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.hazmat.primitives.asymmetric import ec


def for_server(builder: x509.CertificateBuilder, names: Iterable[str]) -> x509.CertificateBuilder:
    """Return the builder with the extensions of a server of these DNS names, which signs nothing."""
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    return builder.add_extension(usage, critical=False).add_extension(alternatives, critical=False)


def for_authority(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    """Return the builder with the extensions of an authority, which signs servers' certificates alone."""
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.add_extension(_usage(signs=True), critical=True)


def private_text(key: ec.EllipticCurvePrivateKey) -> str:
    """Return a private key as it is stored (PEM, PKCS 8). The text is secret."""
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, form, serialization.NoEncryption()).decode()


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
