"""Signed jobspecs as Flux keeps them (a job's key `J`): the key `jobspec` is without the environment."""

from __future__ import annotations

import base64
import json
from typing import Any


def jobspec(signed: str) -> Any:
    """Return the jobspec as it was submitted, from HEADER.PAYLOAD.SIGNATURE. Raises ValueError."""
    _, payload, _ = signed.split(".", 2)
    return json.loads(base64.b64decode(payload))
