"""The reasons of drains that mean something to more than one program."""

from __future__ import annotations

SHRINKING = "minicluster: shrinking"
"""Begins the reason of a drain of the operator's own, for a shrink, which it takes back when demand grows."""
