"""The lead's API in front of a broker, in this process: the way of a service with keys for jobs."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.lead_client.instances import open_instance
from minicluster.lead_client.purpose_keys import JOBS, PurposeKeys
from minicluster.lead_server import files, instance_route
from minicluster.lead_server.purposes import INSTANCE
from minicluster.lead_server.routes import Audience
from minicluster.lead_server.server import Server
from tests.lead.keys import NAME, Authority

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import LeadLink
    from minicluster.instance.port import Instance

UID = NAME.partition(".")[0]


class LeadApi:
    """A server whose broker is reached by `connect`."""

    def __init__(self, connect: Callable[[], LeadLink], uri: str, purpose: str = JOBS) -> None:
        self._uri = uri
        self._folder = tempfile.TemporaryDirectory(prefix="mc-")
        folder, authority = Path(self._folder.name), Authority()
        authority.write(folder / "keys")
        self._keys = PurposeKeys(purpose, authority.certificate, b"k" * 32)
        (folder / "tokens").mkdir()
        (folder / "tokens" / f"{purpose}.token").write_text(self._keys.token(UID))
        self.log: list[str] = []
        credentials = files.ServerCredentials(
            str(folder / "keys"), self.log.append, tokens=str(folder / "tokens")
        )
        routes = instance_route.routes(connect, credentials)
        self._server = Server(0, credentials, routes, self.log.append, {INSTANCE: Audience.INSTANCE})
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def open(self) -> Instance:
        """Connect as a service does."""
        return open_instance(UID, "127.0.0.1", (self._keys,), called=self._uri, port=self._server.port)

    def close(self) -> None:
        """End it."""
        self._server.stop()
        self._server.connections.hang_up_all()
        self._server.connections.wait(10)
        self._server.server_close()
        self._folder.cleanup()
