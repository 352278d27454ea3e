"""Fake lead brokers: HTTPS servers on this machine that send a test's answers."""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS

T = TypeVar("T")
Numbers = Iterable[tuple[str, Mapping[str, str], float]]


def body(numbers: Numbers, age: float = 0.25) -> bytes:
    """Return a lead's answer."""
    listed = [{"name": name, "labels": labels, "value": value} for name, labels, value in numbers]
    return json.dumps({"sampled": "2026-01-01T12:00:00.000Z", "age": age, "samples": listed}).encode() + b"\n"


@dataclass
class Lead:
    """A fake lead: its answer, its token, and the requests that it got."""

    uid: str
    address: str
    token: str
    answer: bytes = b""
    code: int = 200
    requests: int = 0
    connections: int = 0
    refused: int = 0
    pause: float = 0.0
    hangs_up: bool = False
    server: asyncio.Server | None = field(default=None, repr=False)
    writers: set[asyncio.StreamWriter] = field(default_factory=set, repr=False)

    def serve_numbers(self, **numbers: float) -> "Lead":
        """Set its samples: these numbers, without labels."""
        return self.serve_samples([(name, {}, value) for name, value in numbers.items()])

    def serve_samples(self, numbers: Numbers, age: float = 0.25) -> "Lead":
        """Set its samples."""
        self.code, self.answer = 200, body(numbers, age)
        return self

    def fails(self, code: int, why: str) -> None:
        """Have it answer with an error."""
        self.code, self.answer = code, json.dumps({"error": why}).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        self.writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.requests += 1
                await asyncio.sleep(self.pause)
                writer.write(self._answer(head))
                await writer.drain()
                if self.hangs_up:
                    break
        self.writers.discard(writer)
        writer.close()

    def _answer(self, head: str) -> bytes:
        code, answer = self.code, self.answer
        if f"Authorization: Bearer {self.token}\r\n" not in head:
            self.refused += 1
            code, answer = 401, b""
        elif not head.startswith("GET /v1/queue HTTP/1.1\r\n"):
            code, answer = 404, b""
        lines = [f"HTTP/1.1 {code} Whatever", "Content-Type: application/json"]
        return "\r\n".join([*lines, f"Content-Length: {len(answer)}", "", ""]).encode() + answer


class Leads:
    """All fake leads, in a thread of their own."""

    def __init__(self, folder: Path, authority: LeadAuthority) -> None:
        self.folder = folder
        self.authority = authority
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.all: list[Lead] = []

    def add(self, uid: str) -> Lead:
        """Add a lead for the MiniCluster with this UID, at the next address of this machine."""
        third, fourth = divmod(len(self.all), 250)
        address = f"127.7.{third}.{fourth + 1}"
        lead = Lead(uid, address, self.authority.purpose(METRICS).token(uid))
        self.open(lead)
        self.all.append(lead)
        return lead

    def open(self, lead: Lead) -> None:
        """Have it accept connections."""
        context = self.context(lead.uid)
        lead.server = self.run(asyncio.start_server(lead.serve, lead.address, self.port, ssl=context))
        self.port = lead.server.sockets[0].getsockname()[1]

    def close(self, lead: Lead) -> None:
        """Stop it, and close its connections."""

        async def hang_up() -> None:
            assert lead.server is not None
            lead.server.close()
            for writer in list(lead.writers):
                writer.transport.abort()

        self.run(hang_up())

    def context(self, uid: str) -> ssl.SSLContext:
        """Return a lead server's TLS context."""
        keys = self.authority.issue(uid)
        file = self.folder / f"{uid}.pem"
        file.write_text(keys.certificate + keys.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.num_tickets = 0
        context.load_cert_chain(file)
        return context

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)


@contextlib.contextmanager
def playing(folder: Path, authority: LeadAuthority | None = None) -> Iterator[Leads]:
    """Yield a thread for fake leads."""
    leads = Leads(folder, authority or LeadAuthority.make())
    leads.thread.start()
    try:
        yield leads
    finally:

        async def end() -> None:
            for lead in leads.all:
                if lead.server is not None:
                    lead.server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        leads.run(end())
        leads.loop.call_soon_threadsafe(leads.loop.stop)
        leads.thread.join(10)
        leads.loop.close()
