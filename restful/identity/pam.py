"""The machine's own users, by a service of PAM: /etc/pam.d/minicluster, unless another one is named.

PAM blocks, and waits for two seconds after a wrong password: it has four threads of its own. Of passwords in
/etc/shadow a process that is neither root's nor in the group shadow knows its own user's alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import anyio.to_thread
from anyio import CapacityLimiter

from restful.errors import HttpProblem
from restful.identity.pam_accounts import PamAccounts

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE = "minicluster"
THREADS = 4


class PamAuthenticator:
    """Asks PAM."""

    issuer = "pam"

    def __init__(self, ask: Callable[[str, str], bool]) -> None:
        """Take what asks, and blocks."""
        self._ask = ask
        self._limiter = CapacityLimiter(THREADS)
        self._running = 0

    async def authenticate(self, name: str, password: str) -> bool:
        """Return whether a user of this machine has a password. Raises the problem `busy`."""
        if self._running >= THREADS:
            raise HttpProblem("busy", "Too many logins at once; try again.", headers={"Retry-After": "2"})
        self._running += 1
        try:
            return await anyio.to_thread.run_sync(self._ask, name, password, limiter=self._limiter)
        finally:
            self._running -= 1


def authenticator(service: str = SERVICE, allowed: tuple[str, ...] = ()) -> PamAuthenticator:
    """Return what asks PAM, about accounts that may log in (`PamAccounts`).

    Raises ImportError where python-pam is missing, of the extra `pam`.
    """
    module, accounts = importlib.import_module("pam"), PamAccounts(allowed)

    def ask(name: str, password: str) -> bool:
        return accounts.admits(name) and bool(module.authenticate(name, password, service=service))

    return PamAuthenticator(ask)
