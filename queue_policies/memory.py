"""What a policy remembers between decisions: JSON without lists and objects, so that nobody can change it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_policies.records import Memory


def restored(value: object) -> Memory:
    """Return a memory that was written as JSON, with tuples for its lists. Raises TypeError for an object."""
    if isinstance(value, list | tuple):
        return tuple(restored(each) for each in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a memory has {value!r}, which is no text, number, truth, null or list")


def fault(value: object) -> str:
    """Return what is wrong with a memory, empty: nothing."""
    if isinstance(value, tuple):
        return next((wrong for each in value if (wrong := fault(each))), "")
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value}, which is no finite number"
    if value is None or isinstance(value, bool | int | float | str):
        return ""
    return f"{value!r}, which is no text, finite number, truth, None or tuple"
