"""How opaque tokens are written: `mcp_`, 43 base62 digits of 256 random bits, six of a CRC32.

Prefix and checksum let a scanner of repositories find a lost token, and let this service refuse a wrong one
before it asks the database. Only the SHA-256 of a token is stored: 256 random bits need no slow hash.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from enum import StrEnum

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_BYTES = 32
SECRET_DIGITS = 43
"""62 ** 43 is just above 2 ** 256."""
CHECKSUM_DIGITS = 6
TOKEN_LENGTH = 4 + SECRET_DIGITS + CHECKSUM_DIGITS

_VALUES = {digit: value for value, digit in enumerate(ALPHABET)}
_FORM = re.compile(rf"mc[a-z]_[0-9A-Za-z]{{{SECRET_DIGITS + CHECKSUM_DIGITS}}}")
_SECRETS = re.compile(
    r"mc[a-z]_[0-9A-Za-z]{20,}"  # ours, also cut short
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"  # a JWT (RFC 7519)
    r"|\$argon2id?\$\S+"
)


class TokenKind(StrEnum):
    """What a token is for, as its prefix."""

    PERSONAL = "mcp"
    """Made by a user, for programs."""
    REFRESH = "mcr"
    """Gets the next access token (RFC 6749 section 6)."""
    CLIENT = "mcc"
    """The secret of a service account."""
    SESSION = "mcs"
    """A browser's cookie."""
    LINK = "mcl"
    """Logs in once, from a link."""
    DEVICE = "mcd"
    """A device's code (RFC 8628)."""


def write(kind: TokenKind, secret: bytes) -> str:
    """Return the token with a secret of 32 bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a token has {SECRET_BYTES} bytes, not {len(secret)}")
    body = f"{kind}_{base62(int.from_bytes(secret), SECRET_DIGITS)}"
    return body + _checksum(body)


def kind_of(text: str) -> TokenKind | None:
    """Return what a text is as a token, by its form and its checksum; None if it is none."""
    if len(text) != TOKEN_LENGTH or _FORM.fullmatch(text) is None or text[:3] not in set(TokenKind):
        return None
    body, checksum = text[:-CHECKSUM_DIGITS], text[-CHECKSUM_DIGITS:]
    if checksum != _checksum(body) or _number(body[4:]) >> (8 * SECRET_BYTES):
        return None
    return TokenKind(text[:3])


def digest(token: str) -> str:
    """Return what is stored in place of a token: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def prefix(token: str) -> str:
    """Return what listings show of a token, so that its owner knows it again: eight characters."""
    return token[:8]


def redacted(text: str) -> str:
    """Return a text with whatever has the form of a token, a JWT or a password's hash taken out."""
    return _SECRETS.sub("[redacted]", text)


def base62(number: int, digits: int) -> str:
    """Return a number in so many digits, the most significant first."""
    written = []
    for _ in range(digits):
        number, value = divmod(number, len(ALPHABET))
        written.append(ALPHABET[value])
    return "".join(reversed(written))


def _number(text: str) -> int:
    number = 0
    for digit in text:
        number = number * len(ALPHABET) + _VALUES[digit]
    return number


def _checksum(body: str) -> str:
    return base62(zlib.crc32(body.encode()), CHECKSUM_DIGITS)
