"""How much of a job's output is kept: 1 GiB a stream, as of Flux's shell."""

from __future__ import annotations

LIMIT = 1 << 30


class OutputLimit:
    """Counts the bytes of stdout and stderr of one job."""

    def __init__(self) -> None:
        self._seen = {"stdout": 0, "stderr": 0}

    def admit(self, stream: str, data: bytes) -> tuple[bytes, str | None]:
        """What of `data` is kept, and a warning where the limit is passed just now."""
        before = self._seen[stream]
        self._seen[stream] += len(data)
        if self._seen[stream] <= LIMIT:
            return data, None
        return b"", f"{stream} will be truncated, 1G limit exceeded" if before <= LIMIT else None
