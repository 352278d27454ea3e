"""Showing a job's output: the events of guest.output (RFC 24) as bytes on this command's own streams."""

from __future__ import annotations

import base64
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.client import JSON

_LEVELS = {0: "FATAL: ", 1: "FATAL: ", 2: "FATAL: ", 3: "ERROR: ", 4: "WARN: "}


class OutputWriter:
    """Writes output events. `label` puts the task's rank before each line, `prefix` goes before that."""

    def __init__(
        self, *, label: bool, prefix: str = "", zero: float | None = None, quiet: bool = False
    ) -> None:
        self._label = label
        self._prefix = prefix
        self._quiet = quiet
        self._open: tuple[str, str] | None = None  # the stream and rank of a line without its end so far
        self.zero = zero  # the time that log lines count from; None leaves it out

    def take(self, event: JSON) -> None:
        """Show one event."""
        name, context = event["name"], event.get("context") or {}
        if name == "data":
            self._data(context)
        elif name == "log":
            self._log(event["timestamp"], context)
        elif name == "redirect" and not self._quiet:
            target = f" to {context['path']}" if "path" in context else ""
            sys.stderr.write(f"{context['rank']}: {context['stream']} redirected{target}\n")

    def _data(self, context: JSON) -> None:
        data = decoded(context)
        if not data:
            return
        stream, rank = context["stream"], str(context["rank"])
        label = self._prefix + (f"{rank}: " if self._label else "")
        if label:
            data = self._labelled(data, label.encode(), (stream, rank))
        target = sys.stderr if stream == "stderr" else sys.stdout
        target.flush()
        target.buffer.write(data)
        target.buffer.flush()

    def _labelled(self, data: bytes, label: bytes, source: tuple[str, str]) -> bytes:
        first = b"" if self._open == source else label
        self._open = None if data.endswith(b"\n") else source
        body = data.removesuffix(b"\n").replace(b"\n", b"\n" + label)
        return first + body + (b"\n" if data.endswith(b"\n") else b"")

    def _log(self, timestamp: float, context: JSON) -> None:
        level = context.get("level", 6)
        if self._quiet and level > 3:
            return
        time = "" if self.zero is None else f"{timestamp - self.zero:.3f}s: "
        rank = f"[{context['rank']}]" if "rank" in context else ""
        component = f"{context['component']}: " if context.get("component") else ""
        message = f"{component}{context.get('message', '')}"
        sys.stderr.write(f"{time}flux-shell{rank}: {_LEVELS.get(level, '')}{message}\n")


def decoded(context: JSON) -> bytes:
    """Return the bytes of a data event (RFC 24: base64, or text with other bytes as lone surrogates)."""
    data: str = context.get("data", "")
    if context.get("encoding") == "base64":
        return base64.b64decode(data)
    return data.encode("utf-8", "surrogateescape")


def exit_code(status: int) -> int:
    """Return the exit code for a job's wait status: 128 + signal where a signal ended it."""
    return 128 + (status & 0x7F) if status & 0x7F else status >> 8


def ending(status: int) -> str:
    """Return Flux's words for the end of a job that did not succeed."""
    code = exit_code(status)
    if status & 0x7F:
        return f"job shell {signal.strsignal(code - 128)}"
    if code > 128:
        return f"task(s) {signal.strsignal(code - 128)}"
    return f"task(s) exited with exit code {code}"
