"""Bounds of what a short text in a document can ask for, each with its reason.

What exceeds a bound is refused before it is expanded, parsed or planned. So no document can stop the operator
or use up its memory. The bounds of single texts and lists are in `scalars`.
"""

from __future__ import annotations

from broker_config.formats.hostlist import MAX_HOSTS, MAX_NAME, MAX_WRITTEN
from broker_config.shell import MAX_NESTING
from broker_config.toml_limits import MAX_BYTES, MAX_DEPTH, MAX_DOTS

__all__ = [
    "MAX_BYTES",
    "MAX_CORES",
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_DOTS",
    "MAX_GPUS",
    "MAX_HOSTS",
    "MAX_NAME",
    "MAX_NESTING",
    "MAX_WRITTEN",
]

MAX_CORES = 4_096
"""Cores of one rank: Linux allows at most 8,192 CPUs a node, and the largest nodes have some 2,000."""
MAX_GPUS = 1_024
"""GPUs of one rank, slices included: 16 devices of 7 slices each are 112."""
MAX_DIGITS = 100
"""Digits of a whole number in a text: Python writes none of more than 4,300 digits, of any base."""
