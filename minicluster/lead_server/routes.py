"""What a package needs to add routes to the lead API. It imports no other module of the lead server.

An entry point of the group `minicluster.door_routes` names a function that takes an ExtensionContext and
returns an Extension. Its routes are a table of operations. An operation gets the query and the body, two
objects, perhaps empty. It returns one object, an iterator of objects (each is sent as a line when it comes),
Accepted, Text or Pieces. It raises BadRequest, or Refused or InstanceGone of `broker_link`.

Identity is the user of a request that an API server passes on; FrontProxy verifies that it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from minicluster.lead_server import purposes
from minicluster.lead_server.errors import BadRequest, FilesUnusable, Unproven
from minicluster.lead_server.front_proxy import MASTERS, FrontProxy, Identity

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from minicluster.broker_link.link import JSON, Accepted, LeadLink

__all__ = [
    "MASTERS",
    "AggregatedRequest",
    "Audience",
    "BadRequest",
    "Extension",
    "ExtensionContext",
    "FilesUnusable",
    "FrontProxy",
    "Identity",
    "Pieces",
    "Text",
    "Unproven",
    "Upgrade",
]


class Text(NamedTuple):
    """An answer that is sent as it is."""

    body: str
    kind: str
    """Its Content-Type."""
    code: int = 200


class Pieces(NamedTuple):
    """A streamed answer: each part of the body is sent at once."""

    pieces: Iterator[str]
    """Closed when the client has disconnected."""
    kind: str
    """Its Content-Type."""


class Upgrade(NamedTuple):
    """The answer by which a connection becomes one of another protocol (RFC 9110, section 7.8)."""

    protocol: str
    serve: Callable[[socket.socket, bytes, frozenset[str]], None]
    """Called with the socket, with what came behind the request, and with the purposes of what was shown.

    The connection ends with it.
    """


class Audience:
    """The clients that a path is served to. Those with a token for a purpose have its name (`purposes`)."""

    DOOR = "door"
    """The operator."""
    METRICS = purposes.METRICS
    """The operator, and clients with the token or a certificate for metrics."""
    JOBS = purposes.JOBS
    """Clients with the token for jobs, and not the operator."""
    BURST = purposes.BURST
    """Clients with the token for bursts, and not the operator."""
    INSTANCE = "instance"
    """Clients with the token for jobs or that for bursts."""
    ALL = "all"
    """Every client."""


class AggregatedRequest(NamedTuple):
    """A request that the API server's front proxy has passed on."""

    method: str
    path: str
    """Percent-encoded, as it was received."""
    query: Mapping[str, str]
    accept: str
    who: Identity
    """The user."""
    may_read: bool
    """Whether the user may read metrics."""


if TYPE_CHECKING:
    RouteAnswer = JSON | Iterator[JSON] | Accepted | Text | Pieces | Upgrade
    Operation = Callable[[Mapping[str, str], JSON], RouteAnswer]
    # path → HTTP method → operation
    Routes = Mapping[str, Mapping[str, Operation]]
    AggregatedHandler = Callable[[AggregatedRequest], Text]


class ExtensionContext(NamedTuple):
    """The arguments of an extension's entry point."""

    settings: Mapping[str, Any]
    """The table `[minicluster.modules.door]` of broker.toml."""
    connect: Callable[[], LeadLink]
    """Returns a link to the broker for the calling thread."""
    broke: Callable[[Exception], None]
    """To be called with the error that broke such a link."""


class Extension(Protocol):
    """The routes that another package adds, and the threads behind them.

    It may also have `proxied`, a mapping from the first word of a path to an `AggregatedHandler` for requests
    that the API server passes on.
    """

    routes: Routes
    audiences: Mapping[str, str]
    """The Audience of each path; without one it is for the operator."""

    def open(self) -> None:
        """Start, in threads."""

    def close(self) -> None:
        """End soon. The caller does not wait for the threads."""
