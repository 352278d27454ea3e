"""What the lead serves besides: a broker's attributes, its job events.."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from minicluster.flux_modules.door.answers import Audience, Pieces, Text
from minicluster.flux_modules.door.errors import BadRequest, BrokerGone, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.flux_modules.door.extensions import Surroundings
    from minicluster.flux_modules.door.link import JSON
    from minicluster.flux_modules.door.routes import Routes

PACKED = ("acme/__init__.py", "acme/routes.py")
ATTRIBUTE, JOBS, HELLO = "/v1/acme/attribute", "/v1/acme/jobs", "/v1/acme/hello"


class Acme:
    """See `minicluster.flux_modules.door.extensions.Extension`."""

    audiences = {ATTRIBUTE: Audience.DOOR, JOBS: Audience.METRICS, HELLO: Audience.ALL}  # noqa: RUF012

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._ended = threading.Event()
        self.opened = False
        self.routes: Routes = {
            ATTRIBUTE: {"GET": lambda query, _body: self._attribute(query), "POST": self._echo},
            JOBS: {"GET": lambda _query, _body: Pieces(self._jobs(), "text/plain")},
            HELLO: {"GET": lambda _query, _body: Text(f"hello, {self.opened}\n", "text/plain")},
        }

    def open(self) -> None:
        """Begin."""
        self.opened = True

    def close(self) -> None:
        """End soon."""
        self._ended.set()

    def _echo(self, query: Mapping[str, str], body: JSON) -> JSON:
        if "name" in query:
            raise BadRequest("no query is right here", 422)
        return {"body": body, "minimum": self._around.settings.get("min-size")}

    def _attribute(self, query: Mapping[str, str]) -> JSON:
        if "name" not in query:
            raise BadRequest("name: an attribute's name is right")
        try:
            link = self._around.connect()
        except BrokerGone as error:
            self._around.broke(error)
            raise
        try:
            answer = link.rpc("attr.get", {"name": query["name"]}, 4.0)
            return {"value": answer["value"], "engine": link.engine}
        except Refused as error:
            raise BadRequest(f"{query['name']}: {error.text}", 404) from error
        finally:
            link.close()

    def _jobs(self) -> Iterator[str]:
        link = self._around.connect()
        found: list[JSON] = []
        wanted = {"full": True}
        link.call("job-manager.events-journal", wanted, lambda answer, _end: found.append(answer or {}))
        try:
            while not found and not self._ended.is_set():
                link.dispatch(0.5)
        finally:
            link.close()
        yield f"events {sum(len(each.get('events', ())) for each in found)}\n"


def extension(surroundings: Surroundings) -> Acme:
    """Make it."""
    return Acme(surroundings)
