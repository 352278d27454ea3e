"""A TCP proxy that can stop forwarding: what it reads is acknowledged all the same, and kept."""

from __future__ import annotations

import contextlib
import socket
import threading


class SilentProxy:
    """Forwards connections to a port of this machine; `silent` is cleared for as long as the link is up."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._flows = threading.Event()
        self._flows.set()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._start(self._accept)

    def stop(self) -> None:
        """Forward nothing from now on."""
        self._flows.clear()

    def resume(self) -> None:
        """Forward what has come meanwhile, and all that follows."""
        self._flows.set()

    def close(self) -> None:
        """End every connection and thread."""
        self._closed = True
        self._flows.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._sockets:
            _shut(each)
        for thread in self._threads:
            thread.join(10)
        for each in self._sockets:
            each.close()

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(near)
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 5)
            except OSError:
                _shut(near)
                continue
            far.settimeout(None)
            self._sockets.append(far)
            self._start(self._forward, near, far)
            self._start(self._forward, far, near)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                target.sendall(data)
        self._flows.wait()
        _shut(target)


def _shut(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
