"""The file of this user's logins, one entry a server: it holds tokens, so nobody else may read it.

It is $XDG_CONFIG_HOME/minicluster/logins.json (else ~/.config). A change is made with the lock file locked,
on a copy that then takes the file's name: who reads it, finds the one before or the one after.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.client.errors import NotLoggedIn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT = 1
"""Of the file. A later one is refused."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Login:
    """What is stored for a server."""

    token: str = field(repr=False)
    """A personal token, or an access token."""
    expires: float = 0.0
    """When the access token ends, in seconds since 1970."""
    refresh_token: str = field(default="", repr=False)
    """Gets the next one; empty beside a personal token."""
    ca_file: str = ""
    """The certificates of those who may vouch for the server; empty: the usual ones."""


def directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where this program keeps what is the user's own."""
    base = environment.get("XDG_CONFIG_HOME", "")
    usual = Path(environment.get("HOME") or Path.home()) / ".config"
    return (Path(base) if Path(base).is_absolute() else usual) / "minicluster"


class LoginFile:
    """The file. Raises NotLoggedIn, with what to do, where it cannot be used or is open to others."""

    def __init__(self, where: Path | None = None) -> None:
        self._directory = where or directory()
        self._file = self._directory / "logins.json"

    def get(self, server: str) -> Login | None:
        """Return the login for a server; None without one."""
        return self._read().get(server)

    def servers(self) -> list[str]:
        """Return the servers that there is a login for."""
        return sorted(self._read())

    @contextlib.contextmanager
    def locked(self) -> Iterator[dict[str, Login]]:
        """Yield all logins by server, while nobody else changes them; changes to these are stored."""
        with self._lock():
            found = self._read()
            before = dict(found)
            try:
                yield found
            finally:
                if found != before:
                    with _explained(self._file):
                        self._write(found)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with _explained(self._directory):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_others(self._directory, self._directory.stat())
            lock = os.open(self._directory / "logins.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)  # which ends it

    def _read(self) -> dict[str, Login]:
        with _explained(self._file):
            try:
                with self._file.open(encoding="utf-8") as file:
                    _refuse_others(self._file, os.fstat(file.fileno()))
                    return _logins(json.load(file))
            except FileNotFoundError:
                return {}
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise NotLoggedIn(f"{self._file} cannot be read: remove it, and log in again") from error

    def _write(self, logins: Mapping[str, Login]) -> None:
        content = {"format": FORMAT, "servers": {name: asdict(each) for name, each in sorted(logins.items())}}
        handle, name = tempfile.mkstemp(prefix=".logins-", dir=self._directory)  # mode 0600
        try:
            with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
                json.dump(content, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _logins(content: Any) -> dict[str, Login]:
    if content["format"] != FORMAT:
        raise ValueError("another format")
    found = {name: Login(**each) for name, each in content["servers"].items()}
    for each in found.values():
        if not all(isinstance(text, str) for text in (each.token, each.refresh_token, each.ca_file)):
            raise TypeError("a token is a text")
    return found


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {os.geteuid(), 0}:
        raise NotLoggedIn(f"{path} is another user's, and is not believed")
    if found.st_mode & _OTHERS:
        mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
        raise NotLoggedIn(f"{path} is open to other users: `chmod {mode} {path}`, and make new tokens")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotLoggedIn(f"{error.filename or path} cannot be used: {error.strerror}") from error
