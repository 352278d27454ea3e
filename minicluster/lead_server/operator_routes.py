"""The operator's routes: the status, and commands."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.save_orders import SavingOrders, ranks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.broker_link.link import JSON, BrokerLink
    from minicluster.lead_server.routes import RouteAnswer, Routes
    from minicluster.lead_server.status_snapshot import StatusSnapshot
    from minicluster.save_restore.state_files import StateFiles

TIMEOUT = 4.0
"""Seconds that the broker has to run a command: the client waits for 5."""


def routes(
    snapshot: StatusSnapshot, connect: Callable[[], BrokerLink], state_files: StateFiles, archive: str
) -> Routes:
    """Return the routes. `connect` returns a link for the calling thread.

    `state_files` are shared with the start script. `archive` is the path that it saves to; empty: nowhere.
    """
    saving = SavingOrders(snapshot, connect, state_files, archive)
    orders = Orders(snapshot, connect, saving.stay)
    return {
        "/v1/status": {"GET": lambda query, _body: _status(snapshot, query)},
        "/v1/drain": {"POST": lambda _query, body: orders.drain(body)},
        "/v1/undrain": {"POST": lambda _query, body: orders.undrain(body)},
        "/v1/restart": {"POST": lambda _query, body: saving.restart(body)},
        "/v1/recover": {"POST": lambda _query, body: saving.recover(body)},
        "/v1/save": {"POST": lambda _query, body: saving.save(body)},
    }


def _status(snapshot: StatusSnapshot, query: Mapping[str, str]) -> RouteAnswer:
    watch = query.get("watch", "false")
    if watch not in ("true", "false"):
        raise BadRequest(f"watch={watch[:40]}: true or false is right")
    if watch == "true":
        return snapshot.watch()
    status = snapshot.read()
    if status is None:
        raise InstanceGone("the broker has not answered yet")
    return status


class Orders:
    """The commands that drain and undrain ranks."""

    def __init__(
        self, snapshot: StatusSnapshot, connect: Callable[[], BrokerLink], stay: Callable[[str], None]
    ) -> None:
        self._snapshot = snapshot
        self._connect = connect
        self._stay = stay  # called with the ranks that get jobs again

    def drain(self, body: JSON) -> JSON:
        """Drain these ranks. A rank that is drained already keeps its reason. Raises BadRequest, Refused."""
        reason = body.get("reason", "")
        if not isinstance(reason, str) or len(reason) > 1000 or not reason.isprintable():
            raise BadRequest("reason: a line of text of at most 1000 characters is right")
        self._ask("resource.drain", {"targets": ranks_of(body), "reason": reason, "mode": "update"})
        return {}

    def undrain(self, body: JSON) -> JSON:
        """Undrain these ranks; one that is not drained stays as it is. Raises BadRequest, Refused."""
        self._stay(ranks_of(body))
        self._ask("resource.undrain", {"targets": ranks_of(body), "mode": "update"})
        return {}

    def _ask(self, topic: str, payload: JSON) -> None:
        link = self._connect()
        try:
            link.rpc(topic, payload, TIMEOUT)
        except Refused as error:
            if error.errnum in (errno.EINVAL, errno.ENOENT, errno.EPROTO):
                raise BadRequest(f"ranks: {error.text}") from error
            raise
        finally:
            link.close()
            self._snapshot.request_sample()  # also after a failure: what timed out may still be done
