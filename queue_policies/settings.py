"""A policy's settings: fields of its dataclass with a line of documentation and their valid values."""

from __future__ import annotations

import dataclasses
from typing import Any

TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
"""How users write a setting that is true or false, in small letters."""


def setting(default: Any, doc: str, *, least: float | None = None, choices: tuple[str, ...] = ()) -> Any:
    """Return a field with a default, its documentation, and its least value or its only valid values."""
    return dataclasses.field(default=default, metadata={"doc": doc, "least": least, "choices": choices})


def gap(seconds: float) -> Any:
    """Return the setting of all policies that resize running jobs."""
    doc = "least seconds between the end of an action on a job and the next one"
    return setting(seconds, doc, least=0.0)


AFFINITIES = ("none", "best-effort", "required")


def affinity(default: str) -> Any:
    """Return the setting of all placements that go by the NUMA domains of nodes."""
    doc = "whether the cores of a worker are of one NUMA domain; with `required` a job waits until they are"
    return setting(default, doc, choices=AFFINITIES)
