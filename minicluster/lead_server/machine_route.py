"""`POST /v1/machine-certificate`: what lets a machine of a burst join, for a token that is good once.

Machines of a cloud get their settings as metadata, which every job on them can read. So the certificate is
not there; a token is, which is used by the time that a job runs. The body has the token, and a nonce of the
client's own: with the same nonce it may ask again, as an answer may be lost. Refusals are counted, and after
MAX_REFUSALS in a minute nothing but a good token is answered in words. No token is ever logged.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from minicluster.lead_server import curve_route, machine_tokens
from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.purposes import BURST, MACHINE_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from minicluster.broker_link.link import JSON
    from minicluster.lead_server.files import ServerCredentials
    from minicluster.lead_server.routes import Routes, Text

RECORD = "machine-tokens"
"""The file in the lead's run directory with the tokens that were used."""
MAX_REFUSALS = 20
"""In REFUSAL_SECONDS; a good token is accepted after them as well: nobody keeps machines out."""
REFUSAL_SECONDS = 60.0
NOT_GOOD = "the token is not good here: it is another lead's, or the operator has replaced it"
USED = "the token was used before: it is good once, for one machine"
TOO_MANY = "too many requests with tokens that are not good; try again in a minute"


class MachineCertificates:
    """Gives the certificate at `path` for tokens. `log` is called with counts of refusals."""

    def __init__(
        self,
        path: str,
        credentials: ServerCredentials,
        record: Path,
        log: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._credentials = credentials
        self._used = machine_tokens.UsedTokens(record)
        self._refusals = RefusalLimit(log, clock)
        self._clock = clock

    def routes(self) -> Routes:
        """Return the route; none without a certificate."""
        return {MACHINE_CERTIFICATE: {"POST": lambda _query, body: self._give(body)}} if self._path else {}

    def _give(self, body: JSON) -> Text:
        text, nonce = body.get("token"), body.get("nonce")
        if not isinstance(text, str) or not isinstance(nonce, str):
            raise self._refusals.counted(BadRequest("token and nonce are needed, two texts"))
        token = machine_tokens.verified(self._credentials.tokens.get(BURST, b""), text)
        if token is None:
            raise self._refusals.counted(BadRequest(NOT_GOOD, 401))
        if token.until <= self._clock():
            over = f"the time of the token is over, which machine {token.number} of {token.label} has"
            raise self._refusals.counted(BadRequest(over, 403))
        found = curve_route.read(self._path)
        try:
            is_good = self._used.use(token, nonce, self._clock())
        except OSError as error:
            why = error.strerror or str(error)
            raise BadRequest(f"cannot note that the token is used: {why}", 503) from error
        if not is_good:
            raise self._refusals.counted(BadRequest(USED, 403))
        return found


class RefusalLimit:
    """Counts refusals. Any thread may use it."""

    def __init__(self, log: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._began = -float("inf")
        self._count = 0

    def counted(self, refusal: BadRequest) -> BadRequest:
        """Count a refusal; return it, or after too many the one that says no more than that."""
        with self._lock:
            now = self._clock()
            if not 0 <= now - self._began < REFUSAL_SECONDS:
                self._began, self._count = now, 0
            self._count += 1
            count = self._count
        if count in (1, MAX_REFUSALS):
            self._log(f"refused {count} request(s) for the certificate by a machine's token: {refusal}")
        return refusal if count <= MAX_REFUSALS else BadRequest(TOO_MANY, 429)
