"""What a client that is closed leaves behind, while a server over TLS owes it an answer."""

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.errors import ApiUnreachableError
from minicluster.kube_client.resources import CONFIG_MAPS
from tests.operator.lead_server import context
from tests.operator.listening import OURS


@dataclass
class SilentServer:
    """Reads requests, and answers none; the way in to it does not look at its certificate."""

    listener: socket.socket
    tls: ssl.SSLContext
    asked: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def connect(self) -> ApiCredentials:
        """Return the way in."""
        return ApiCredentials(server=f"https://127.0.0.1:{self.listener.getsockname()[1]}", insecure=True)

    def accept(self) -> None:
        """Take connections, each with a thread of its own."""
        threads: list[threading.Thread] = []
        with contextlib.suppress(OSError):
            while not self.over.is_set():
                threads.append(threading.Thread(target=self.read, args=self.listener.accept()))
                threads[-1].start()
        for thread in threads:
            thread.join()

    def read(self, raw: socket.socket, _address: object) -> None:
        """Read one request."""
        with raw, contextlib.suppress(OSError), self.tls.wrap_socket(raw, server_side=True) as connection:
            connection.recv(1 << 16)
            self.asked.set()
            self.over.wait(60)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[SilentServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SilentServer(listener, context(tmp_path, OURS, "uid"))
        thread = threading.Thread(target=server.accept)
        thread.start()
        yield server
        server.over.set()
        socket.create_connection(listener.getsockname()).close()
        thread.join()


async def close_amid_a_request(silent: SilentServer) -> None:
    async with ApiClient(silent, lambda: None) as client:  # type: ignore[arg-type]
        request = asyncio.ensure_future(client.read(CONFIG_MAPS, "science", "a"))
        await asyncio.to_thread(silent.asked.wait, 10)
    with pytest.raises(ApiUnreachableError):
        await request


def test_a_connection_whose_answer_is_owed_is_closed(silent: SilentServer) -> None:
    """Or else it is open as long as the process lives."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(close_amid_a_request(silent))
        gc.collect()
    assert [str(each.message) for each in warned] == []
