"""Where a database is, from its URL; pure.

sqlite:///state.db                 a file, from the working directory
sqlite:////var/lib/mc/state.db     a file by its whole path
postgresql://rest@db.example/rest  a server, as libpq reads it; passwords are best in a file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from typing import Final

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
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

    def __str__(self) -> str:
        return self.public


def parsed(url: str) -> DatabaseUrl:
    """Return what a URL means; raise DatabaseError, which quotes no password, where it means no database."""
    scheme, separator, rest = url.partition("://")
    if scheme == SQLITE and separator:
        return _file(rest)
    if scheme in {POSTGRESQL, "postgres"} and separator:
        return _server(url)
    known = f"{scheme[:20]!r} is no kind of database here" if separator else "a database's URL has a scheme"
    raise DatabaseError(f"{known}: use {_FORMS}")


def _file(rest: str) -> DatabaseUrl:
    path = rest.removeprefix("/")
    if not rest.startswith("/"):
        raise DatabaseError(
            f"sqlite://{rest}: three slashes stand before a file's name, as in sqlite:///{rest}"
        )
    if path in {"", ":memory:"}:
        raise DatabaseError(
            "sqlite: a database in memory is lost at the end; name a file, as in sqlite:///FILE"
        )
    if "?" in path or "\0" in path:
        raise DatabaseError(f"sqlite:///{path.partition('?')[0]}: a file's name has no options after it")
    return DatabaseUrl(SQLITE, f"sqlite:///{path}", path=Path(path))


def _server(url: str) -> DatabaseUrl:
    try:
        split = urlsplit(url)
        public = _public(split)
    except ValueError:
        # The error may quote a piece of a password that has special characters in it.
        raise DatabaseError(
            "postgresql: the URL cannot be read; special characters of a password are written as in %40"
        ) from None
    if not split.path.strip("/"):
        raise DatabaseError(f"{public}: name the database, as in postgresql://USER@HOST/DATABASE")
    return DatabaseUrl(POSTGRESQL, public, dsn=url)


def _public(split: SplitResult) -> str:
    """Return the URL without password and options; raise ValueError for a port that is none."""
    ports = [split.port] if "," not in split.netloc else []
    hosts = split.netloc.rpartition("@")[2]
    if not all(port is None or port > 0 for port in ports):
        raise ValueError("a port is above 0")
    user = f"{split.username}@" if split.username else ""
    return f"postgresql://{user}{hosts}{split.path}"
