"""Chooses our scheduler: before Flux's own where broker.toml names it, before Fluxion with `always`."""

from __future__ import annotations

from typing import Any


def setup(context: Any) -> None:
    """Is called by modprobe before it loads modules."""
    when = context.conf_get("minicluster.flux-scheduler")
    fluxion = "sched-fluxion-qmanager" in context.modprobe.taskdb
    if when == "always" or (when and not fluxion):
        context.set_alternative("sched", "minicluster-sched")
