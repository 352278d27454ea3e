"""The limit of a job's stored output: 1 GiB for each stream, as in Flux's shell."""

from __future__ import annotations

LIMIT = 1 << 30


class OutputLimit:
    """Counts the bytes of stdout and stderr of one job."""

    def __init__(self) -> None:
        self._seen = {"stdout": 0, "stderr": 0}

    def admit(self, stream: str, data: bytes) -> tuple[bytes, str | None]:
        """Return `data`, or nothing once the limit is passed, and a warning where this data passes it."""
        before = self._seen[stream]
        self._seen[stream] += len(data)
        if self._seen[stream] <= LIMIT:
            return data, None
        return b"", f"{stream} will be truncated, 1G limit exceeded" if before <= LIMIT else None
