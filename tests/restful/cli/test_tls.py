"""A certificate is read anew while the service runs; the former one goes on where that does not fit."""

import asyncio
import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from restful.cli import tls
from restful.cli.errors import ServeError
from restful.cli.tls import CertificateFiles


def write(folder: Path, name: str) -> CertificateFiles:
    """Write a certificate for a name, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = CertificateFiles(folder / "mc.pem", folder / "mc.key")
    files.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


async def presented(context: ssl.SSLContext) -> bytes:
    """Return the certificate that a server with this context presents to the next client."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=client)
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
    assert isinstance(found, bytes)
    return found


def common_name(certificate: bytes) -> str:
    return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def test_the_next_connection_gets_the_new_certificate(tmp_path: Path) -> None:
    files = write(tmp_path, "old")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files.load(context)
    before = files.stamp
    assert tls.renew(files, context, before) == before
    write(tmp_path, "new")
    assert tls.renew(files, context, before) == files.stamp != before
    assert common_name(asyncio.run(presented(context))) == "CN=new"


def test_the_former_certificate_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write(tmp_path, "old")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files.load(context)
    before, key = files.stamp, files.key.read_bytes()
    write(tmp_path, "new")
    files.key.write_bytes(key)
    assert tls.renew(files, context, before) == files.stamp
    assert "the former certificate goes on: " in caplog.text
    assert common_name(asyncio.run(presented(context))) == "CN=old"
    files.key.unlink()
    assert tls.renew(files, context, before) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file or directory"), (b"no PEM", "--tls-cert {cert}, --tls-key {key}: ")],
)
def test_files_that_are_no_certificate_are_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    files = write(tmp_path, "mc")
    files.certificate.unlink()
    if content is not None:
        files.certificate.write_bytes(content)
    with pytest.raises(ServeError) as caught:
        files.load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    assert message.format(cert=files.certificate, key=files.key) in str(caught.value)
