"""Signed jobspecs (RFC 15), as Flux stores one under a job's key `J`: HEADER.PAYLOAD.SIGNATURE.

Flux's key `jobspec` has no environment; the payload of this one has it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from broker_config.formats.errors import SignedJobspecError

_HEADER = b"version\0i1\0mechanism\0snone\0"


def decode(signed: str) -> dict[str, Any]:
    """Return the jobspec as it was submitted; the signature is not checked. Raises SignedJobspecError."""
    try:
        _header, payload, _signature = signed.split(".", 2)
        found: dict[str, Any] = json.loads(base64.b64decode(payload))
    except ValueError as error:
        raise SignedJobspecError(f"the signed jobspec cannot be read: {error}") from error
    return found


def encode(jobspec: str) -> str:
    """Return a jobspec's JSON text in the envelope without a signature (mechanism `none`)."""
    return ".".join(base64.b64encode(part).decode() for part in (_HEADER, jobspec.encode())) + ".none"
