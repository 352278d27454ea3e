"""Bytes as they come from a socket, cut into lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Lines:
    """Cuts bytes into lines; a line over the limit comes out as None, once for each `limit` bytes of it."""

    limit: int
    _rest: bytes = b""
    _too_long: bool = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """Return the lines that are now complete, without their newlines."""
        *complete, self._rest = (self._rest + data).split(b"\n")
        found: list[bytes | None] = []
        for line in complete:
            found += self._over(line) or ([] if self._too_long else [line])
            self._too_long = False
        over = self._over(self._rest)
        if over:
            self._too_long, self._rest = True, b""
        return found + over

    def _over(self, line: bytes) -> list[bytes | None]:
        return [None] * (len(line) // self.limit) if len(line) > self.limit else []
