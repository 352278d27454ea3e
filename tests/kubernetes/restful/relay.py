"""A way to the API server that can be cut, and given back at the same address."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import yaml

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 1 << 16


class Relay:
    """Passes bytes on, TLS and all; `kubeconfig` leads through it."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        url = urlsplit(cluster["server"])
        self._server = (url.hostname or "", url.port or 443)
        self._open: set[socket.socket] = set()
        self._listening: socket.socket | None = None
        self.port = 0
        self.restore()
        cluster["server"] = f"https://{url.hostname}:{self.port}"
        self.kubeconfig = folder / "relay.kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(yaml.safe_dump(document))

    def restore(self) -> None:
        """Accept connections."""
        listening = self._listening = socket.create_server((self._server[0], self.port))
        self.port = listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, and accept none."""
        if self._listening is not None:
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = listening.accept()
                theirs = socket.create_connection(self._server)
                for pair in ((ours, theirs), (theirs, ours)):
                    self._open.add(pair[0])
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()
