"""How tasks that start together find each other: PMI-1 (RFC 13), as MPI does, over PMI_FD."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from minicluster.malleable.errors import TeamError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Pmi:
    """The task's connection to its launcher. Without PMI_FD the task is alone, with a size of 1."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        descriptor = environment.get("PMI_FD", "")
        self.rank = self.size = self._exchanges = 0
        self._stream = None
        if not descriptor.isdecimal():
            self.size = 1
            return
        connection = socket.socket(fileno=os.dup(int(descriptor)))
        self._stream = connection.makefile("rwb")
        connection.close()  # the file keeps it open
        self._ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")
        self.rank, self.size = int(environment.get("PMI_RANK", "0")), int(environment.get("PMI_SIZE", "1"))
        self._space = self._ask("cmd=get_my_kvsname", "my_kvsname").get("kvsname", "")

    def exchange(self, value: str) -> list[str]:
        """Return the values of all tasks by rank. Raises TeamError."""
        if self._stream is None:
            return [value]
        self._exchanges += 1  # new keys each time: others may still be reading the last ones
        keys = [f"minicluster.{self._exchanges}.{rank}" for rank in range(self.size)]
        self._ask(f"cmd=put kvsname={self._space} key={keys[self.rank]} value={value}", "put_result")
        self._ask("cmd=barrier_in", "barrier_out")
        return [self._ask(f"cmd=get kvsname={self._space} key={key}", "get_result")["value"] for key in keys]

    def close(self) -> None:
        """Finalize PMI: send the launcher that no more requests follow, and close the connection."""
        if self._stream is not None:
            self._ask("cmd=finalize", "finalize_ack")
            self._stream.close()
            self._stream = None

    def _ask(self, line: str, answer: str) -> dict[str, str]:
        assert self._stream is not None  # noqa: S101 - callers have looked
        self._stream.write(f"{line}\n".encode())
        self._stream.flush()
        reply = self._stream.readline().decode().strip()
        words = dict(word.partition("=")[::2] for word in reply.split(" "))
        if words.get("cmd") != answer or words.get("rc", "0") != "0":
            raise TeamError(f"PMI: {line[:80]!r} was answered with {reply[:80]!r}")
        return words
