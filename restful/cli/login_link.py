"""`minicluster serve --login-link USER`: a way in for who owns the state directory, beside the service.

Who may read and write the database could let himself in by other means as well.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from minicluster.database import open_database
from restful.cli.errors import ServeError, WrongOptions
from restful.cli.process import LINK_PATH
from restful.identity import web_sessions
from restful.identity.identities import open_identities
from restful.identity.master_key import load_master_key
from restful.identity.settings import IdentitySettings
from restful.store import users
from restful.store.schema import SCHEMA
from restful.store.users import UserKind, UserState

if TYPE_CHECKING:
    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.state import StateDirectory


async def login_link(directory: StateDirectory, endpoint: ServeEndpoint, name: str) -> str:
    """Return the address at which a user logs in once. Raises ServeError, DatabaseError, MasterKeyError."""
    if not endpoint.port and not endpoint.url:
        raise WrongOptions(
            "--login-link: give --listen or --url as for the service that is to be logged in to"
        )
    if not directory.has_database:
        raise ServeError(
            f"state directory {directory.path}: no service has run with it yet; --state names it"
        )
    database = await open_database(directory.database, SCHEMA)
    try:
        settings = IdentitySettings(issuer=endpoint.address(endpoint.port))
        master = load_master_key(directory.master_key)
        identities = open_identities(database, settings, time.time, master)
        async with database.read() as connection:
            user = await users.by_name(connection, name)
        if user is None or user.kind is not UserKind.USER:
            raise ServeError(f"--login-link {name}: state directory {directory.path} has no such user")
        if user.state is not UserState.ACTIVE:
            raise ServeError(f"--login-link {name}: the user is {user.state}; an admin can make him active")
        return f"{settings.issuer}{LINK_PATH}?token={await web_sessions.login_link(identities, user)}"
    finally:
        await database.close()
