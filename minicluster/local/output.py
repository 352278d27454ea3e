"""The output of pods: into a log of bounded size, and to a sink."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_config.formats import broker_log

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.local.records import LocalPod
    from minicluster.local.state_directory import ClusterDirectory

CHUNK = 1 << 16
MAX_LINE_BYTES = 1 << 20
"""Bytes of a line that is held back until it is whole."""
LOG_LIMIT = 16 << 20
"""Bytes; at this size a log is renamed to `<log>.1`, so that a pod's logs stay below twice as much."""

Sink = Callable[[bytes], None]


class LogFile:
    """A file that pods' output goes to. A full disk loses output, never the pod."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = path.stat().st_size if path.exists() else 0
        self._file = path.open("ab", buffering=0)

    def write(self, data: bytes) -> None:
        """Append, and start a new file at the limit."""
        try:
            self._file.write(data)
        except OSError:
            return
        self._size += len(data)
        if self._size > LOG_LIMIT:
            self._file.close()
            self._path.replace(self._path.with_suffix(".log.1"))
            self._file = self._path.open("ab", buffering=0)
            self._size = 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PodLogs:
    """The logs of a cluster's pods, each opened with the pod's first container."""

    def __init__(self, directory: ClusterDirectory) -> None:
        self._directory = directory
        self._logs: dict[str, LogFile] = {}

    def of(self, pod: LocalPod) -> LogFile:
        """Return the log of a pod."""
        if pod.name not in self._logs:
            self._logs[pod.name] = LogFile(self._directory.log(pod.name))
        return self._logs[pod.name]

    def close(self) -> None:
        """Close them all."""
        for log in self._logs.values():
            log.close()


class Pump:
    """Carries one pipe's data to a log and, if given, to a sink, in chunks of at most 64 KiB."""

    def __init__(self, reader: int, log: LogFile, sink: Sink | None) -> None:
        self._reader = reader
        self._log = log
        self._sink = sink
        os.set_blocking(reader, False)
        asyncio.get_running_loop().add_reader(reader, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._reader, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._log.write(data)
        if self._sink:
            self._sink(data)

    def drain(self) -> None:
        """Read the rest of the pipe, after its writers have gone."""
        while self._reader >= 0:
            before = self._reader
            try:
                data = os.read(before, CHUNK)
            except OSError:
                return
            if not data:
                self.close()
                return
            self._log.write(data)
            if self._sink:
                self._sink(data)

    def close(self) -> None:
        """Stop reading."""
        if self._reader >= 0:
            asyncio.get_running_loop().remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1


class CommandErrors:
    """Filters a lead's standard error: passes on what the command wrote, and brokers' warnings until `over`.

    Brokers log line by line as `broker.info[0]: …`; a line longer than 1 MiB is passed on in parts.
    """

    def __init__(self, sink: Sink, over: Callable[[], bool] = lambda: False) -> None:
        self._sink = sink
        self._over = over
        self._rest = b""

    def __call__(self, data: bytes) -> None:
        """Filter the next bytes, which may end within a line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self._is_quiet(line):
                self._sink(line + b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._sink(self._rest)
            self._rest = b""

    def flush(self) -> None:
        """Pass on a last line without its newline."""
        if self._rest and not self._is_quiet(self._rest):
            self._sink(self._rest)
        self._rest = b""

    def _is_quiet(self, line: bytes) -> bool:
        return broker_log.is_quiet(line) or (self._over() and broker_log.is_logged(line))


def last_lines(path: Path, count: int = 5) -> list[str]:
    """Return the last lines of a log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 8192))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.strip()][-count:]
