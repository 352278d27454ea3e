"""What `status`, `top` and listings show of jobs that share cores: with whom, quotas, experts' weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minicluster.cli.job_words import written

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

TOPIC = "minicluster-sched.sharing"
"""Of the embedded instance; those of release 0.1.0 do not have it."""
QUOTAS, WEIGHTS = "cpu_quotas", "expert_weights"
"""The fields of a status: what enforces quotas, and the weights of the policy's experts by their names."""


def fields(instance: Instance) -> dict[str, Any]:
    """Return the fields of a status; none where jobs do not share cores."""
    from minicluster.instance.errors import RequestRefused

    if instance.engine != "embedded":
        return {}
    try:
        found = instance.links.rpc(TOPIC, {})
    except RequestRefused:
        return {}
    if not found.get("enforcement"):
        return {}
    return {QUOTAS: found["enforcement"], **({WEIGHTS: found["weights"]} if found.get("weights") else {})}


def for_people(shown: dict[str, Any]) -> dict[str, Any]:
    """Return fields with the weights in a line, the heaviest first."""
    weights = shown.get(WEIGHTS)
    if not weights:
        return shown
    ranked = sorted(weights.items(), key=lambda each: -each[1])
    return {**shown, WEIGHTS: ", ".join(f"{name} {weight:.0%}" for name, weight in ranked)}


def pairing(job: Job) -> dict[str, Any]:
    """Return a job's host, guests (ids) and quota; None, none and None where it has no part in that."""
    shown = job.annotations.get("sharing")
    known = shown if isinstance(shown, Mapping) and not job.result else {}
    return {
        "host": None if known.get("host") is None else written(known["host"]),
        "guests": [written(guest) for guest in known.get("guests") or ()],
        "quota": known.get("quota"),
    }


def information(job: Job) -> str:
    """Return with whom a running job shares its cores, and its quota; else an empty text."""
    found = pairing(job)
    quota = "" if found["quota"] in (None, 1) else f", {found['quota']:.0%} of their time"
    if found["host"]:
        return f"on the cores of {found['host']}{quota}"
    if found["guests"]:
        return f"has {', '.join(found['guests'])} on its cores{quota}"
    return f"may use {found['quota']:.0%} of its cores' time" if quota else ""
