"""The key under all others: a file of 32 random bytes that its owner alone reads.

Secrets in the database are sealed with what is derived from it (AES-GCM, HKDF of RFC 5869), so that a copy of
the database is not enough to sign tokens. Who loses the file logs in anew.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

KEY_BYTES = 32
_NONCE_BYTES = 12


class MasterKeyError(Exception):
    """The file of the master key cannot be used; the message has its name and what would be right."""


@dataclass(frozen=True, slots=True)
class MasterKey:
    """What secrets of this service are sealed with."""

    secret: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> Self:
        """Return a new one, of random bytes."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def derived(self, purpose: str) -> bytes:
        """Return 32 bytes for one purpose; who has them does not have those of another."""
        info = b"minicluster " + purpose.encode()
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(self.secret)

    def seal(self, secret: bytes, name: str) -> bytes:
        """Return a secret encrypted, so that it opens under the same name alone."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self.derived("seal")).encrypt(nonce, secret, name.encode())

    def open(self, sealed: bytes, name: str) -> bytes:
        """Return what was sealed under a name. Raises MasterKeyError if it was not, or with another key."""
        nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self.derived("seal")).decrypt(nonce, text, name.encode())
        except (InvalidTag, ValueError) as error:
            raise MasterKeyError(
                f"{name} in the database is sealed with another master key: give back the file that it was "
                "written with, or delete the row, and all log in anew"
            ) from error


def load_master_key(path: Path) -> MasterKey:
    """Return the key in a file, which is made at the first start.

    Raises MasterKeyError if others may read it, or if it is not a key.
    """
    with suppress(FileExistsError):
        _create(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise MasterKeyError(f"{path}: {error.strerror}; it must be a file that this user reads") from error
    return _read(descriptor, path, 0o077, "make it 0400")


def mounted_master_key(path: Path) -> MasterKey:
    """Return the key in a file of a Secret's volume, which is never made here.

    A kubelet makes such files as links, root's, and readable by the pod's group (`fsGroup`).
    Raises MasterKeyError if everybody may read it, or if it is not a key.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        words = f"it must be a file with {KEY_BYTES} random bytes, the same for all replicas"
        raise MasterKeyError(f"{path}: {error.strerror}; {words}") from error
    return _read(descriptor, path, 0o007, "give the Secret's volume defaultMode 0440, and the pod an fsGroup")


def _read(descriptor: int, path: Path, forbidden: int, remedy: str) -> MasterKey:
    with os.fdopen(descriptor, "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        found = file.read(KEY_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if mode & forbidden:
        raise MasterKeyError(f"{path}: mode {mode:04o} lets others read it; {remedy}")
    if len(found) != KEY_BYTES:
        raise MasterKeyError(f"{path}: a master key has {KEY_BYTES} bytes; this file does not")
    return MasterKey(found)


def _create(path: Path) -> None:
    """Write a new key beside its file, and give it its name when it is whole; keep the one that is there."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    finally:
        temporary.unlink()
