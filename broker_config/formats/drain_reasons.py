"""The reasons of drains that more than one program reads."""

from __future__ import annotations

SHRINKING = "minicluster: shrinking"
"""How the operator's reason for a drain begins that is for a shrink. It undrains these when demand grows."""
