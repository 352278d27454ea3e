"""Log lines in Flux's form: `Nov 21 11:49:06.210 UTC 2026 broker.err[0]: text`."""

from __future__ import annotations

import sys
import time
from collections import deque

LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG = range(8)


class Log:
    """Keeps the last lines and writes those of `level` or graver to stderr."""

    def __init__(self, name: str, level: int = ERR) -> None:
        self.name = name  # the rank, or the host name before there is one
        self.level = level
        self.ring: deque[str] = deque(maxlen=1024)

    def __call__(self, level: int, text: str, component: str = "broker") -> None:
        """Log a line at a syslog level."""
        now = time.time()
        line = f"{component}.{LEVELS[level]}[{self.name}]: {text}"
        self.ring.append(
            f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1e6):06d}Z {line}"
        )
        if level <= self.level:
            stamp = time.strftime("%b %d %H:%M:%S", time.gmtime(now))
            print(
                f"{stamp}.{int(now % 1 * 1e6):06d} UTC {time.gmtime(now).tm_year} {line}",
                file=sys.stderr,
                flush=True,
            )
