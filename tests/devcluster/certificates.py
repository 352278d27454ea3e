"""The certificates of one test cluster: made in hundredths of a second, good for a day, never reused."""

import datetime
import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = datetime.timedelta(days=1)
SKEW = datetime.timedelta(hours=1)  # a clock set back meanwhile does no harm


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that writes what it signs into one folder."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    file: Path

    def issue(self, file: str, user: str, groups: Iterable[str] = (), hosts: Iterable[str] = ()) -> Pair:
        """Sign a certificate for a client, or, with the hosts it may call itself, for a server too.

        To Kubernetes the common name is the user and the organizations are the groups.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = unsigned(subject(user, groups), self.certificate.subject, key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        if names := [general_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        pair = Pair(self.folder / f"{file}.crt", self.folder / f"{file}.key")
        write(pair.certificate, certificate.public_bytes(Encoding.PEM))
        write(pair.key, private_pem(key))
        return pair


def authority(folder: Path, name: str) -> Authority:
    """Make an authority and write its certificate; its key stays in this process."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = unsigned(subject(name), subject(name), key)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(signing(), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    file = folder / f"{name}.crt"
    write(file, certificate.public_bytes(Encoding.PEM))
    return Authority(folder, certificate, key, file)


def signing_pair(folder: Path, name: str) -> Pair:
    """Make the key that service account tokens are signed with; `certificate` is its public half."""
    key = ec.generate_private_key(ec.SECP256R1())
    pair = Pair(folder / f"{name}.pub", folder / f"{name}.key")
    write(pair.key, private_pem(key))
    write(pair.certificate, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return pair


def unsigned(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    """Begin a certificate."""
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + LIFE)
    )


def subject(name: str, groups: Iterable[str] = ()) -> x509.Name:
    """Write the distinguished name of a user and its groups."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def signing() -> x509.KeyUsage:
    """Return the key usage of an authority."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def general_name(host: str) -> x509.GeneralName:
    """Return a host as an IP address or as a DNS name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Write a private key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(content)
