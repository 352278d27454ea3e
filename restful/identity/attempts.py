"""How many requests an address may send of those for which nobody has to show who he is.

They cost a hash, or a transaction that writes. What was wrong with them is counted elsewhere (`backoff`), and
holds up a guesser for longer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from restful.errors import HttpProblem
from restful.identity.addresses import counted_as
from restful.limits.token_bucket import Rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from restful.identity.settings import IdentitySettings

ADDRESSES = 10_000
"""Whose rates are remembered at once."""


class Attempts:
    """Counts by address, in this process alone."""

    def __init__(self, settings: IdentitySettings, now: Callable[[], float]) -> None:
        self._settings = settings
        self._now = now
        self._logins = Rates(settings.logins_per_minute / 60, settings.login_burst, ADDRESSES)
        self._requests = Rates(settings.anonymous_per_second, settings.anonymous_burst, ADDRESSES)
        self._wrong = Rates(settings.wrong_tokens_per_minute / 60, settings.wrong_token_burst, ADDRESSES)

    def login(self, address: str) -> None:
        """Count the beginning of a login. Raises the problem `too-many-requests`."""
        rate, burst = self._settings.logins_per_minute, self._settings.login_burst
        _take(self._logins, address, self._now(), f"{rate:g} logins a minute from one address, and {burst}")

    def request(self, address: str) -> None:
        """Count any request. Raises the problem `too-many-requests`."""
        rate, burst = self._settings.anonymous_per_second, self._settings.anonymous_burst
        limit = f"{rate:g} requests a second from one address without a token, and {burst}"
        _take(self._requests, address, self._now(), limit)

    def wrong_token(self, address: str) -> None:
        """Count a token that was found wrong. Raises the problem `too-many-requests`.

        It is asked once a token is known to be wrong: who has a good one does not wait, though there may be a
        guesser behind the same address.
        """
        rate, burst = self._settings.wrong_tokens_per_minute, self._settings.wrong_token_burst
        limit = f"{rate:g} wrong tokens a minute from one address, and {burst}"
        _take(self._wrong, address, self._now(), limit)


def _take(rates: Rates, address: str, now: float, limit: str) -> None:
    decision = rates.take(counted_as(address), now)
    if not decision.allowed:
        wait = str(max(1, math.ceil(decision.wait)))
        raise HttpProblem("too-many-requests", f"the limit is {limit} at once", headers={"Retry-After": wait})
