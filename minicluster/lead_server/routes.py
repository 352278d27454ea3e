"""What a service needs that serves routes at the lead: others import of the lead's server this module alone.

An entry point of the group `minicluster.door_routes` names a function that takes an ExtensionContext and
returns an Extension. Its routes are a table of operations. An operation gets the query and the body, both
objects, perhaps empty. It returns one object, an iterator of objects (each is sent as a line when it comes),
Accepted, Text or Pieces. It raises BadRequest, or Refused or InstanceGone of `broker_link`.

Identity and FrontProxy tell who asks where an API server passes requests on, to a lead or to another server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from minicluster.lead_server.errors import BadRequest, FilesUnusable, Unproven
from minicluster.lead_server.front_proxy import MASTERS, FrontProxy, Identity

if TYPE_CHECKING:
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
]


class Text(NamedTuple):
    """A whole answer, as it is sent; `kind` is its Content-Type."""

    body: str
    kind: str
    code: int = 200


class Pieces(NamedTuple):
    """An answer that comes piece by piece, each sent at once; closed when the client is gone."""

    pieces: Iterator[str]
    kind: str


class Audience:
    """Who may ask for a path: the operator, besides it those who may read metrics, or everybody."""

    DOOR = "door"
    METRICS = "metrics"
    ALL = "all"


class AggregatedRequest(NamedTuple):
    """A request that the API server's front proxy has passed on."""

    method: str
    path: str
    """Percent-encoded, as it came."""
    query: Mapping[str, str]
    accept: str
    who: Identity
    may_read: bool
    """Whether the one who asks is among those who may read metrics."""


if TYPE_CHECKING:
    Answer = JSON | Iterator[JSON] | Accepted | Text | Pieces
    Operation = Callable[[Mapping[str, str], JSON], Answer]
    # path → HTTP method → operation
    Routes = Mapping[str, Mapping[str, Operation]]
    AggregatedHandler = Callable[[AggregatedRequest], Text]


class ExtensionContext(NamedTuple):
    """What an extension is made with."""

    settings: Mapping[str, Any]
    """The table `[minicluster.modules.door]` of broker.toml."""
    connect: Callable[[], LeadLink]
    """Returns a link to the broker for the thread that calls."""
    broke: Callable[[Exception], None]
    """To be called with what broke such a link."""


class Extension(Protocol):
    """Routes of another package, and what keeps them going.

    It may have `proxied` as well, a mapping to `AggregatedHandler`: operations for what the API server passes
    on, by the first word of a path.
    """

    routes: Routes
    audiences: Mapping[str, str]
    """Who may ask, by path: see Audience."""

    def open(self) -> None:
        """Begin, in threads."""

    def close(self) -> None:
        """End soon; nobody waits for it."""
