"""An HTTPS server of the lead API that runs during a test."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.lead.client import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.lead_server.server import Server


@contextmanager
def serving(server: Server) -> Iterator[None]:
    """Serve in a thread; then stop as the lead server does, and wait for all connections."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield
    server.stop()
    server.connections.hang_up_all()
    server.connections.wait(DEADLINE)
    server.server_close()
    thread.join()
