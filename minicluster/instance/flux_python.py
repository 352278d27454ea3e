"""Real Flux, through a helper process: Flux's Python bindings live in Flux's own Python.

The helper (flux_helper.py, under `flux python`) speaks lines of JSON on its standard input and output; a
thread here reads them and hands each to whoever waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Self, cast

from minicluster.instance.errors import InstanceGone, RequestRefused, WaitTimeout

if TYPE_CHECKING:
    from types import TracebackType

JSON = Mapping[str, Any]

HELPER = Path(__file__).with_name("flux_helper.py")
CREDIT = 256
"""Items of one stream on their way to a reader that has not asked for them yet."""
GRACE = 5.0
"""Seconds that the helper has for ending after its standard input ended."""


class FluxTransport:
    """One helper process; `flux` is the real flux-core's command."""

    engine = "flux"

    def __init__(self, uri: str, flux: str = "flux") -> None:
        self.uri = uri
        self._numbers = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[JSON]] = {}
        self._lock = threading.Lock()
        self._gone: str | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = self._start(flux)
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        self._greet()
        self._reader = threading.Thread(target=self._read, name="flux-helper", daemon=True)
        self._reader.start()

    def _start(self, flux: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        try:
            return subprocess.Popen(
                [flux, "python", str(HELPER), self.uri],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                start_new_session=True,  # Ctrl-C is for us to handle
            )
        except OSError as error:
            self._errors.close()
            raise InstanceGone(f"cannot start {flux} python: {error.strerror}") from error

    def _greet(self) -> None:
        line = self._answers.readline()
        greeting = json.loads(line) if line else {"gone": self._last_words()}
        if "gone" in greeting:
            self.close()
            raise InstanceGone(f"{self.uri}: {greeting['gone']}")

    def _last_words(self) -> str:
        """Say how the helper ended, with the end of what it wrote to standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        self._errors.seek(0)
        words = self._errors.read()[-2000:].decode(errors="replace").strip()
        return f"the helper under `flux python` ended with {self._process.returncode}" + (
            f": {words}" if words else ""
        )

    def _read(self) -> None:
        reason = ""
        for line in self._answers:
            answer = json.loads(line)
            reason = answer.get("gone", reason)
            with self._lock:
                waiting = self._waiting.get(answer.get("id", 0))
            if waiting is not None:
                waiting.put(answer)
        self._end(reason or self._last_words())

    def _end(self, reason: str) -> None:
        with self._lock:
            self._gone = self._gone or f"{self.uri}: {reason}"
            waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.put({"gone": True})

    def send(self, request: JSON) -> None:
        """Write one line to the helper. Raises InstanceGone."""
        data = json.dumps(request).encode("ascii") + b"\n"
        try:
            with self._lock:
                self._requests.write(data)
                self._requests.flush()
        except (OSError, ValueError) as error:
            raise self.gone() from error

    def gone(self) -> InstanceGone:
        """Return the error to raise once the helper or its broker ended."""
        self._reader.join(GRACE)
        return InstanceGone(self._gone or f"{self.uri}: this connection was closed")

    def open(self, request: dict[str, Any]) -> tuple[int, SimpleQueue[JSON]]:
        """Send a request and return its number and the queue of its answers."""
        number, answers = next(self._numbers), SimpleQueue[JSON]()
        with self._lock:
            gone = self._gone is not None
            self._waiting[number] = answers
        if gone:
            raise self.gone()
        self.send({"id": number, **request})
        return number, answers

    def forget(self, number: int) -> None:
        """Drop whatever still comes for a request."""
        with self._lock:
            self._waiting.pop(number, None)

    def call(self, topic: str, payload: JSON, *, timeout: float | None = None) -> JSON:
        """Ask for one answer."""
        number, answers = self.open({"topic": topic, "payload": dict(payload)})
        try:
            answer = answers.get(timeout=timeout)
        except Empty:
            raise WaitTimeout(f"{topic}: no answer in {timeout:g} s") from None
        finally:
            self.forget(number)
        if "gone" in answer:
            raise self.gone()
        if "errnum" in answer:
            raise RequestRefused(topic, answer["errnum"], answer["errstr"])
        result: JSON = answer["payload"]
        return result

    def stream(self, topic: str, payload: JSON) -> HelperStream:
        """Ask for many answers."""
        return HelperStream(self, topic, payload)

    def submit(self, jobspec: JSON, urgency: int, flags: int) -> int:
        """Sign and submit a jobspec."""
        payload = {"jobspec": jobspec, "urgency": urgency, "flags": flags}
        return int(self.call("helper.submit", payload)["id"])

    def dump(self, path: str) -> None:
        """`flux dump`, beside the broker."""
        self.call("helper.dump", {"path": path})

    def close(self) -> None:
        """End the helper; the instance goes on."""
        if self._errors.closed:
            return
        with self._lock, contextlib.suppress(OSError):
            self._requests.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        reader = getattr(self, "_reader", None)
        if reader is not None:
            reader.join()
        self._answers.close()
        self._errors.close()


class HelperStream:
    """The answers to one streaming request; at most CREDIT of them wait here for their reader."""

    def __init__(self, transport: FluxTransport, topic: str, payload: JSON) -> None:
        self._transport = transport
        self._topic = topic
        self._taken = 0
        self._ended = False
        request = {"topic": topic, "payload": dict(payload), "stream": True, "credit": CREDIT}
        self._number, self._answers = transport.open(request)

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        if self._ended:
            raise StopIteration
        answer = self._answers.get()
        if "payload" in answer:
            self._make_room()
            result: JSON = answer["payload"]
            return result
        self._finish()
        if "gone" in answer:
            raise self._transport.gone()
        if answer["errnum"] == errno.ENODATA:
            raise StopIteration
        raise RequestRefused(self._topic, answer["errnum"], answer["errstr"])

    def _make_room(self) -> None:
        self._taken += 1
        if self._taken >= CREDIT // 2:
            self._transport.send({"id": self._number, "credit": self._taken})
            self._taken = 0

    def _finish(self) -> None:
        self._ended = True
        self._transport.forget(self._number)

    def close(self) -> None:
        """End the request; a reader that waits in another thread comes to its end."""
        if self._ended:
            return
        self._finish()
        with contextlib.suppress(InstanceGone):
            self._transport.send({"id": self._number, "cancel": True})
        self._answers.put({"errnum": errno.ENODATA})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
