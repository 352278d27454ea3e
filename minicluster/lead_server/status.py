"""Computes the parts of the status object from the broker's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import idset, resource_set
from broker_config.formats.jobspec import user_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any

    from minicluster.broker_link.link import JSON

MAX_PROBLEMS = 8
"""Problems that a status names."""
MAX_PROBLEM_LENGTH = 200
"""Characters of a problem."""


def drains(answer: JSON) -> dict[str, str]:
    """Return the drained ranks (resource.status) as idsets, each with its reason."""
    return {ranks: str(each.get("reason") or "") for ranks, each in answer.get("drain", {}).items()}


def known(drained: dict[str, str], down: str) -> dict[str, str]:
    """Return the drained ranks that the scheduler knows, with reasons: those in its `down` ranks."""
    found = ((_common(ranks, down), reason) for ranks, reason in drained.items())
    return {ranks: reason for ranks, reason in found if ranks}


def union(idsets: Iterable[str]) -> str:
    """Return the ranks of all `idsets`."""
    return idset.encode(rank for each in idsets for rank in idset.decode(each))


def meet(left: str, right: str) -> bool:
    """Return whether two idsets have a rank in common."""
    return bool(_common(left, right))


def halted(queues: Mapping[str, JSON], of_bursts: Container[str] = ()) -> list[str]:
    """Return which queues start no jobs, and why; not those `of_bursts`, which are stopped most of the time.

    `queues` has the answers to job-manager.queue-status by queue; the key "" is the queue without a name.
    """
    alike: dict[str, list[str]] = {}
    for name, answer in queues.items():
        if answer.get("start") is False and name not in of_bursts:
            alike.setdefault(str(answer.get("stop_reason") or "stopped"), []).append(name)
    found = (why if names == [""] else f"queue {', '.join(names)}: {why}" for why, names in alike.items())
    return [each[:MAX_PROBLEM_LENGTH] for each in found][:MAX_PROBLEMS]


def _common(left: str, right: str) -> str:
    return idset.encode(set(idset.decode(left)).intersection(idset.decode(right)))


def ranks_of(answer: JSON, part: str) -> str:
    """Return the ranks of the scheduler's `allocated` or `down` resources (R as in RFC 20)."""
    resources = answer.get(part)
    return idset.encode(resource_set.ranks_of(resources)) if resources else ""


def is_main(jobspec: Any) -> bool:
    """Return whether the start script marked this job as the MiniCluster's main one."""
    ours = user_of(jobspec).get("minicluster")
    return isinstance(ours, dict) and ours.get("main") is True


def troubles(
    rejected_peers: Iterable[str], health: JSON, hosts: Sequence[str], of_bursts: Container[int] = ()
) -> list[str]:
    """Return why brokers have not joined or were lost: rejected peers, then overlay.health, newest first.

    Ranks `of_bursts` come and go: their loss is not reported.
    """
    children = (each for each in health.get("children", ()) if each.get("rank") not in of_bursts)
    absent = sorted(
        (child for child in children if child.get("error")),
        key=lambda child: float(child["duration"]),
    )
    lost = (f"{hosts[child['rank']]}: {child['status']}: {child['error']}" for child in absent)
    found = dict.fromkeys((*rejected_peers, *lost))
    return [trouble[:MAX_PROBLEM_LENGTH] for trouble in found][:MAX_PROBLEMS]
