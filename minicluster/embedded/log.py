"""Log lines in Flux's form: `Nov 21 11:49:06.210 UTC 2026 broker.err[0]: text`."""

from __future__ import annotations

import contextlib
import sys
import time

LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG = range(8)


class Log:
    """Writes lines of syslog severity `level` or worse to stderr."""

    def __init__(self, name: str, level: int = ERR) -> None:
        self.name = name  # the rank, or the host name before there is one
        self.level = level

    def __call__(self, level: int, text: str, component: str = "broker") -> None:
        """Log a line at a syslog level."""
        if level <= self.level:
            now = time.time()
            stamp = time.strftime(f"%b %d %H:%M:%S.{int(now % 1 * 1e6):06d} UTC %Y", time.gmtime(now))
            line = f"{stamp} {component}.{LEVELS[level]}[{self.name}]: {text}"
            with contextlib.suppress(BrokenPipeError):  # a broker without a reader still ends in order
                print(line, file=sys.stderr, flush=True)
