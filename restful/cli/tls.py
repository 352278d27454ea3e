"""The certificate of a service that runs: read anew when its files change, for the next connections."""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from restful.cli.errors import ServeError

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("restful.tls")

POLL_INTERVAL = 5.0
"""Seconds between two looks at the files: a certificate is renewed days before the old one ends."""

FileStamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where certificate and key are, PEM."""

    certificate: Path
    key: Path

    def load(self, context: ssl.SSLContext) -> None:
        """Have a context present them. Raises ServeError, and leaves it as it was, where they do not fit."""
        self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        self._load(context)

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except ssl.SSLError as error:
            reason = (error.reason or "cannot be read").replace("_", " ").lower()
            raise ServeError(f"--tls-cert {self.certificate}, --tls-key {self.key}: {reason}") from error
        except (OSError, ValueError) as error:
            name = getattr(error, "filename", None) or self.certificate
            raise ServeError(f"{name}: {getattr(error, 'strerror', None) or error}") from error

    @property
    def stamp(self) -> FileStamp:
        """Return what changes when the files do; empty while one is not there."""
        try:
            found = [path.stat() for path in (self.certificate, self.key)]
        except OSError:
            return ()
        return tuple((each.st_mtime_ns, each.st_ino, each.st_size) for each in found)


def _no_password() -> str:
    raise ValueError("the key has a password; give one without")


async def follow(files: CertificateFiles, context: ssl.SSLContext, interval: float = POLL_INTERVAL) -> None:
    """Read the files anew whenever they change; without an end."""
    tried = files.stamp
    while True:
        await asyncio.sleep(interval)
        tried = renew(files, context, tried)


def renew(files: CertificateFiles, context: ssl.SSLContext, before: FileStamp) -> FileStamp:
    """Read the files anew if they have changed, and return what they are like now.

    Certificate and key are written one after the other: where they do not fit, the former ones go on.
    """
    now = files.stamp
    if not now or now == before:
        return before
    try:
        files.load(context)
    except ServeError as error:
        log.warning("the former certificate goes on: %s", error)
    else:
        log.info("the certificate was read anew")
    return now
