"""Where a database is, from its URL; pure.

sqlite:///state.db                 a file, from the working directory
sqlite:////var/lib/mc/state.db     a file by its whole path
postgresql://rest@db.example/rest  a server, with libpq's options behind `?`; a password is best in a file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
_PASSWORDS = ("password", "sslpassword")
_FORMS = "sqlite:///FILE or postgresql://USER@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A database's URL, understood."""

    engine: str
    """SQLITE or POSTGRESQL."""
    public: str
    """The URL without its password and options: for messages and logs."""
    path: Path = Path()
    """SQLite's file."""
    dsn: str = field(default="", repr=False)
    """PostgreSQL's URL, which may have the password in it."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """PostgreSQL's options, of which one may be the password."""

    @property
    def has_password(self) -> bool:
        """Return whether who sees the URL sees a password."""
        return bool(urlsplit(self.dsn).password) or not self.options.keys().isdisjoint(_PASSWORDS)

    def __str__(self) -> str:
        return self.public


def parsed(url: str) -> DatabaseUrl:
    """Return what a URL means; raise DatabaseError, which quotes no password, where it means no database."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise DatabaseError(f"the URL of a database begins with its kind: {_FORMS}")
    if scheme == SQLITE:
        return _file(rest)
    if scheme in {POSTGRESQL, "postgres"}:
        return _server(url)
    raise DatabaseError(f"{scheme[:20]!r} is no kind of database here: use {_FORMS}")


def _file(rest: str) -> DatabaseUrl:
    path = rest.removeprefix("/")
    if not rest.startswith("/"):
        raise DatabaseError(f"sqlite://{rest}: a file's name stands behind three slashes: sqlite:///{rest}")
    if path in {"", ":memory:"}:
        raise DatabaseError(
            "a database in memory would end with the process: name a file, as in sqlite:///FILE"
        )
    if "?" in path or "\0" in path:
        raise DatabaseError(f"sqlite:///{path.partition('?')[0]}: a file's name has no options behind it")
    return DatabaseUrl(SQLITE, f"sqlite:///{path}", path=Path(path))


def _server(url: str) -> DatabaseUrl:
    try:
        split = urlsplit(url)
        options = dict(parse_qsl(split.query, strict_parsing=bool(split.query)))
        public = _public(split)
    except ValueError:
        # What was wrong may be a part of a password with special characters in it: it is quoted nowhere.
        raise DatabaseError(
            "the URL of PostgreSQL cannot be read: it is postgresql://USER@HOST/DATABASE?OPTION=VALUE,"
            " and special characters are written as in %40"
        ) from None
    return DatabaseUrl(POSTGRESQL, public, dsn=url, options=options)


def _public(split: SplitResult) -> str:
    """Return the URL without password and options; raise ValueError for one that has other parts."""
    account, separator, hosts = split.netloc.rpartition("@")
    behind = split.path + split.query
    if "@" in account or "@" in behind or split.fragment or "/" in split.path[1:] or len(split.path) < 2:
        raise ValueError("not of that form")
    if "," not in hosts and split.port == 0:
        raise ValueError("a port is above 0")
    return f"postgresql://{account.partition(':')[0]}{separator}{hosts}{split.path}"
