"""What an administrator does beside the service: make its tables, and let the first admin in."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from minicluster.database import migrate, open_database
from restful.cli.errors import ServeError
from restful.identity import web_sessions
from restful.identity.identities import open_identities
from restful.identity.master_key import MasterKeyError, mounted_master_key
from restful.identity.settings import IdentitySettings
from restful.kubernetes.settings import database_url
from restful.store.schema import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path


def migrate_database(database: str) -> None:
    """Make the tables of this release. Raises WrongOptions, DatabaseError."""
    asyncio.run(migrate(database_url(database), SCHEMA))


def first_admin_link(database: str, master_key: Path, url: str) -> str:
    """Return the token of a link. Raises ServeError, WrongOptions, DatabaseError."""
    try:
        found = asyncio.run(_first_admin_link(database_url(database), master_key, url.rstrip("/")))
    except MasterKeyError as error:
        raise ServeError(f"--master-key {error}") from error
    if found is None:
        raise ServeError("an admin has logged in already: he lets others in")
    return found


async def _first_admin_link(database_url: str, master_key: Path, url: str) -> str | None:
    master = mounted_master_key(master_key)
    database = await open_database(database_url, SCHEMA)
    try:
        identities = open_identities(database, IdentitySettings(issuer=url), time.time, master)
        return await web_sessions.first_admin_link(identities)
    finally:
        await database.close()
