"""A policy's settings: fields of its dataclass that say in one line what they mean, and what they may be."""

from __future__ import annotations

import dataclasses
from typing import Any


def setting(default: Any, doc: str, *, least: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A field with a default, its documentation, and its least value or the only values it may have."""
    return dataclasses.field(default=default, metadata={"doc": doc, "least": least, "choices": choices})


def gap(seconds: float) -> Any:
    """The setting that all policies have which resize running jobs."""
    doc = "least seconds between the end of an action on a job and the next one"
    return setting(seconds, doc, least=0.0)
