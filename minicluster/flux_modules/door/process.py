"""The lead server that the embedded broker of release 0.1.0 starts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(uri: str, settings: Mapping[str, Any]) -> int:
    """Run the embedded instance's lead server, which is imported late: no zip contains it."""
    code: int = import_module("minicluster.embedded_lead.process").main(uri, settings)
    return code
