"""The lead server as a whole: its files, the status poller and the HTTPS server. Opened and closed once."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import reason
from minicluster.lead_server import curve_route, extensions, instance_route, machine_route
from minicluster.lead_server.files import ServerCredentials
from minicluster.lead_server.operator_routes import routes
from minicluster.lead_server.purposes import CURVE_CERTIFICATE, INSTANCE, MACHINE_CERTIFICATE
from minicluster.lead_server.routes import Audience, ExtensionContext
from minicluster.lead_server.server import Server
from minicluster.lead_server.status_poller import Follower
from minicluster.lead_server.status_snapshot import StatusSnapshot
from minicluster.save_restore.state_files import StateFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from minicluster.broker_link.link import LeadLink

WITHOUT = "the instance runs without the lead API"
PORT = 8443
DIRECTORY = "/etc/minicluster-curve"
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 0.5, 30.0
"""Seconds before a port that was taken is tried again: doubled each time."""
_DRAIN_SECONDS = 0.5


def log_line(text: str) -> None:
    """Write a line to the broker's stderr; do nothing if that is closed."""
    with contextlib.suppress(OSError):
        print(f"minicluster-door: {text}", file=sys.stderr, flush=True)


def log_broken_link(error: Exception) -> None:
    """Write why a link to the broker broke."""
    log_line(f"cannot follow the broker: {type(error).__name__}: {reason(error)}")


class LeadServer:
    """Serves the lead API, as the table `[minicluster.modules.door]` of broker.toml has it.

    `broke` is called with the error of a broken link. Raises FilesUnusable if nothing can be served.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        connect: Callable[[], LeadLink],
        log: Callable[[str], None],
        broke: Callable[[Exception], None],
    ) -> None:
        directory = str(settings.get("directory", DIRECTORY))
        self._port = int(settings.get("port", PORT))
        readers, tokens = (str(settings.get(each, "")) for each in ("metrics-tls", "tokens"))
        self._credentials = ServerCredentials(directory, log, readers, tokens)
        self._log = log
        self._connect = connect
        self._ending = threading.Event()
        self._server: Server | None = None
        self._snapshot = StatusSnapshot(self._wake)
        main_job = bool(settings.get("main-job", False))
        self._archive = str(settings.get("archive", ""))
        self._for_instance = Audience.INSTANCE if settings.get("bursting") else Audience.JOBS
        self._curve_path = str(settings.get("curve-certificate", ""))
        # All three variables are the start script's.
        run = os.environ.get("MINICLUSTER_RUN", "/run/minicluster")
        starts = os.environ.get("MINICLUSTER_RESTORED") or os.environ.get("MINICLUSTER_STARTS_QUEUES")
        self._machines = machine_route.MachineCertificates(
            self._curve_path, self._credentials, Path(run) / machine_route.RECORD, log
        )
        self._state_files = StateFiles(run, starts_queues=bool(starts))
        self._follower = Follower(self._snapshot, connect, broke, self._state_files, main_job=main_job)
        self._extensions = list(extensions.load(ExtensionContext(settings, connect, broke), log))
        self._thread = threading.Thread(target=self._serve, name="door-server", daemon=True)

    def _wake(self) -> None:
        self._follower.wake()

    def open(self) -> None:
        """Start the poller, the extensions and the server, in threads."""
        self._follower.start()
        for each in self._extensions:
            each.open()
        self._thread.start()

    def _serve(self) -> None:
        server = self._listen()
        if server is not None:
            self._server = server
            server.serve_forever()

    def _listen(self) -> Server | None:
        """Bind the port, and try again while it is taken; None if the lead server closes before."""
        own = {
            **routes(self._snapshot, self._connect, self._state_files, self._archive),
            **instance_route.routes(self._connect, self._credentials),
            **curve_route.routes(self._curve_path),
            **self._machines.routes(),
        }
        table, audiences = extensions.joined(own, self._extensions)
        audiences = {
            **audiences,
            INSTANCE: self._for_instance,
            CURVE_CERTIFICATE: Audience.BURST,
            MACHINE_CERTIFICATE: Audience.ALL,  # who has a token for it has no other
        }
        passed = extensions.proxied(self._extensions)
        pause = MIN_RETRY_DELAY
        while not self._ending.is_set():
            try:
                return Server(self._port, self._credentials, table, self._log, audiences, passed)
            except OSError as error:
                self._log(f"cannot listen on port {self._port}: {error.strerror}; tried again in {pause:g} s")
                self._ending.wait(pause)
                pause = min(2 * pause, MAX_RETRY_DELAY)
        return None

    def close(self) -> None:
        """End every watch, then the server and the poller."""
        self._ending.set()
        self._snapshot.close()
        for each in self._extensions:
            each.close()
        self._follower.close()
        server = self._server
        if server is not None:
            server.stop()
            server.connections.wait(_DRAIN_SECONDS)
            server.connections.hang_up_all()
            server.server_close()
        self._follower.join(_DRAIN_SECONDS)
