"""The door's files, of which only a Secret holds the originals: certificate chain, key and token."""

from __future__ import annotations

import ssl
from pathlib import Path

from minicluster.flux_modules.door.errors import FilesUnusable

CERTIFICATE, KEY, TOKEN = "door.crt", "door.key", "door.token"
SHORTEST_TOKEN = 32
"""Characters; a token that somebody could guess is no token."""


def context(directory: str) -> ssl.SSLContext:
    """Return the TLS side. Raises FilesUnusable, which names the file."""
    certificate, key = (Path(directory) / name for name in (CERTIFICATE, KEY))
    for path in (certificate, key):
        _read(path)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.num_tickets = 0  # nobody resumes a session, and each ticket costs its client memory
    try:
        made.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise FilesUnusable(f"{certificate} and {key} are no certificate with its key: {error}") from error
    return made


def token(directory: str) -> str:
    """Return the token. Raises FilesUnusable, which names the file and not what it holds."""
    path = Path(directory) / TOKEN
    text = _read(path).strip()
    if len(text) < SHORTEST_TOKEN or not text.isascii() or len(text.split()) != 1:
        raise FilesUnusable(f"{path}: a token of at least {SHORTEST_TOKEN} ASCII characters is right")
    return text


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(1 << 20)
    except UnicodeDecodeError as error:
        raise FilesUnusable(f"cannot read {path}: it is no text") from error
    except OSError as error:
        raise FilesUnusable(f"cannot read {path}: {error.strerror}") from error
