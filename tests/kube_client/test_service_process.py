"""What processes that serve a whole cluster have in common."""

import asyncio
import gc
import ssl
import tracemalloc
from asyncio.sslproto import SSLProtocol

import pytest

from minicluster.kube_client import open_files, service_process

CONNECTIONS = 40
MAX_BYTES = 48 * 1024
"""Bytes of Python's memory for each connection: asyncio would take 256 KiB."""


def test_connections_by_tls_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are open for as long as the process lives: watches, requests, leads."""
    monkeypatch.setattr(SSLProtocol, "max_size", SSLProtocol.max_size)  # as it was, afterwards
    monkeypatch.setattr(open_files, "allow_many", lambda: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(service_process.logs, "setup", lambda *_: None)
    service_process.prepare("json", "info")

    async def taken() -> int:
        loop, context = asyncio.get_running_loop(), ssl.create_default_context()
        before = tracemalloc.get_traced_memory()[0]
        made = [SSLProtocol(loop, asyncio.Protocol(), context, None) for _ in range(CONNECTIONS)]
        after = tracemalloc.get_traced_memory()[0]
        for each in made:
            each.connection_lost(None)
        return (after - before) // len(made)

    tracemalloc.start()
    try:
        assert 16 * 1024 < asyncio.run(taken()) < MAX_BYTES
    finally:
        tracemalloc.stop()
