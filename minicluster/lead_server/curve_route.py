"""`GET /v1/curve-certificate`: what lets brokers join, for a service that manages bursts.

It is served where the document has such bursts join, and to a token for bursts alone. So that service needs
no right to read Secrets, which would be one to read everybody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.purposes import CURVE_CERTIFICATE
from minicluster.lead_server.routes import Text

if TYPE_CHECKING:
    from minicluster.lead_server.routes import Routes

MAX_BYTES = 16 << 10


def routes(path: str) -> Routes:
    """Return the route of a certificate's file; none without one."""
    return {CURVE_CERTIFICATE: {"GET": lambda _query, _body: read(path)}} if path else {}


def read(path: str) -> Text:
    """Return the certificate in a file. Raises BadRequest."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start time
            return Text(file.read(MAX_BYTES), "text/plain")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadRequest(f"cannot read the certificate {path}: {why}", 503) from error
