"""Where a request comes from, as far as it is known before anybody is authenticated."""

from __future__ import annotations

from dataclasses import dataclass

from restful.identity import refresh


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a request."""

    address: str
    agent: str
    """Its User-Agent."""
    client: str = ""
    """The id of the OAuth client, as it states it itself."""

    @property
    def fingerprint(self) -> str:
        """What two requests of one client have in common."""
        return refresh.fingerprint(self.client, self.address, self.agent)
