"""How much a document may ask for where little text stands for much: each bound with its reason.

What is above is refused before anything is expanded, parsed or planned, so that one document can neither
stop the operator nor use up its memory. The bounds of single texts and lists are in `scalars`.
"""

from __future__ import annotations

from broker_config.formats.hostlist import MAX_HOSTS, MAX_NAME
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
]

MAX_CORES = 4_096
"""Cores of one rank: Linux itself is built for at most 8,192 CPUs a node, and the largest have some 2,000."""
MAX_GPUS = 1_024
"""GPUs of one rank, slices of one included: 16 devices of 7 slices each are 112."""
MAX_DIGITS = 100
"""Digits of a whole number in a text: Python writes none of more than 4,300, whatever its base was."""
