"""The states of a broker, whose numbers `state-machine.monitor` sends: see flux-broker(1)."""

from __future__ import annotations

NAMES = ("load-builtins", "join", "config-sync", "init", "quorum", "run", "cleanup", "shutdown")
"""By number."""
RUN = NAMES.index("run")
"""The number of the state in which the initial program runs; greater ones are the broker's end."""
