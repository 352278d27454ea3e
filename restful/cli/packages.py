"""Whether what the service needs is installed: it is an extra of this project's."""

from __future__ import annotations

from importlib.util import find_spec

from restful.cli.errors import ServeError

NEEDED = (
    "aiosqlite",
    "alembic",
    "argon2",
    "fastapi",
    "httptools",
    "joserfc",
    "sqlalchemy",
    "uvicorn",
    "uvloop",
)


def require(command: str) -> None:
    """Raise ServeError where a package is missing that a command needs."""
    missing = [each for each in NEEDED if find_spec(each) is None]
    if missing:
        raise ServeError(
            f"{command} needs packages that are not installed ({', '.join(missing)}):"
            " `pip install '.[rest]'` in a checkout"
        )
