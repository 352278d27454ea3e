"""A lead server for tests: HTTPS with scripted answers, also wrong ones."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minicluster.lead_client.keys import LeadAuthority

ANSWER = "HTTP/1.1 {status}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
REPORT: dict[str, Any] = {
    "engine": "embedded",
    "version": "0.88.0",
    "size": 4,
    "online": "0-2",
    "drained": "",
    "busy": "1",
    "running": True,
    "jobid": "ƒabc",
    "queue_policy": "minicluster/easy",
    "troubles": ["mc-3: turned away: wrong certificate"],
}


Script = Callable[["FakeLead", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    """Return data as a chunk (RFC 9112, 7.1)."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def line(report: Any) -> bytes:
    """Return a report as a chunk with a line."""
    return chunk(json.dumps(report).encode() + b"\n")


@dataclass
class FakeLead:
    """A lead server with a script: what it sends after a request, and whether it then waits."""

    script: "Script"
    token: str
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        self.connections += 1
        self.open += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = dict(each.lower().split(": ", 1) for each in head[1:] if each)
            body = await reader.readexactly(int(fields.get("content-length", "0")))
            self.requests.append((head[0], fields, body))
            if fields.get("authorization") != f"bearer {self.token}":
                writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            else:
                await self.script(self, reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self.open -= 1
            writer.close()


async def reporting(fake_lead: FakeLead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send one report, and wait; accept a command."""
    if fake_lead.requests[-1][0].startswith("POST"):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        return
    writer.write(ANSWER.format(status="200 OK").encode() + line(REPORT))
    await reader.read()  # until the other side hangs up


def sending(data: bytes, *, stays: bool = False) -> Script:
    """Return a script that sends these bytes, and hangs up or waits."""

    async def script(_: FakeLead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if stays:
            await reader.read()  # until the other side hangs up

    return script


def context(folder: Path, authority: LeadAuthority, uid: str) -> ssl.SSLContext:
    """Return the TLS context of a lead server with a certificate of this authority."""
    keys = authority.issue(uid)
    (folder / "door.crt").write_text(keys.certificate)
    (folder / "door.key").write_text(keys.key)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.num_tickets = 0
    found.load_cert_chain(folder / "door.crt", folder / "door.key")
    return found


@asynccontextmanager
async def serving(fake_lead: FakeLead, tls: ssl.SSLContext | None, port: int = 0) -> AsyncIterator[FakeLead]:
    """Serve on this machine."""
    server = await asyncio.start_server(fake_lead.serve, "127.0.0.1", port, ssl=tls)
    fake_lead.port = server.sockets[0].getsockname()[1]
    try:
        yield fake_lead
    finally:
        server.close()
