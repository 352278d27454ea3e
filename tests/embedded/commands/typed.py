"""Commands that are typed on four real brokers, and what they print."""

from __future__ import annotations

import os
import re
from typing import Any

DEADLINE = 60.0
HEAD = "       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO"


def submitted(cluster: Any, *words: str) -> str:
    """Submit a job and return its id."""
    ran = cluster.flux("submit", *words)
    assert ran.stdout.startswith("ƒ"), ran.stderr
    return str(ran.stdout.strip())


def user() -> str:
    import pwd  # noqa: PLC0415

    return pwd.getpwuid(os.getuid()).pw_name


def masked(text: str) -> str:
    """Replace ids, times and durations, so that outputs can be compared."""
    text = re.sub(r"ƒ[1-9A-HJ-NP-Za-km-z]+", "ƒID", text)
    text = re.sub(r"\b\d{10}\.\d+", "STAMP", text)
    return re.sub(r"\b\d+\.\d{3}s", "TIME", text)
