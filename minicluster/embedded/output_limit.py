"""How much of a job's output is kept: Flux's shell option output.limit, 1G a stream by default."""

from __future__ import annotations

import json
import re

DEFAULT = "1G"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class OutputLimit:
    """Counts the bytes of stdout and stderr of one job."""

    def __init__(self, limit: str) -> None:
        self._text = limit
        self._most = parse_size(limit)
        self._seen = {"stdout": 0, "stderr": 0}

    @staticmethod
    def of(jobspec: str | None) -> OutputLimit:
        """The limit that a jobspec sets; one that makes no sense is the default."""
        spec = json.loads(jobspec or "{}")
        options = spec.get("attributes", {}).get("system", {}).get("shell", {}).get("options", {})
        output = options.get("output")
        limit = output.get("limit", DEFAULT) if isinstance(output, dict) else DEFAULT
        try:
            return OutputLimit(str(limit))
        except ValueError:
            return OutputLimit(DEFAULT)

    def admit(self, stream: str, data: bytes) -> tuple[bytes, str | None]:
        """What of `data` is kept, and a warning where the limit is passed just now."""
        before = self._seen.get(stream, 0)
        self._seen[stream] = before + len(data)
        if self._seen[stream] <= self._most:
            return data, None
        warning = f"{stream} will be truncated, {self._text} limit exceeded" if before <= self._most else None
        return b"", warning


def parse_size(text: str) -> int:
    """Bytes in `500`, `64K`, `1.5G`. Raises ValueError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{text!r} is no size such as 500, 64K or 1G")
    return int(float(match[1]) * _UNITS[match[2].upper()])
