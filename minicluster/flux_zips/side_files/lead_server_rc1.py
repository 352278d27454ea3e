"""Flux's rc1 loads the modules that it knows; this adds the module of the lead's server."""

from __future__ import annotations

from typing import Any


def setup(context: Any) -> None:
    """Is called by modprobe before it loads modules."""
    context.load_modules(["minicluster-door"])
