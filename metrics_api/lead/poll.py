"""Polls the instance for a sample: the nodes, the counts of jobs, the stopped queues.

Each is one request, which the instance answers from its counts; jobs are never listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import idset, resource_set
from broker_config.formats.drain_reasons import SHRINKING
from metrics_api import names
from metrics_api.numbers.records import Counts, NodeState
from minicluster.broker_link import queues

if TYPE_CHECKING:
    from typing import Any

    from minicluster.broker_link.link import BrokerLink

    JSON = dict[str, Any]

TIMEOUT = 4.0
"""Seconds that the broker has for an answer: after that the sample would be too old."""


class QueuePoll(NamedTuple):
    """The results of one poll."""

    nodes: tuple[NodeState, ...]
    counts: Counts
    stopped: frozenset[str]


class QueuePoller:
    """Polls the instance. It caches what it has read from R, which seldom changes."""

    def __init__(self, link: BrokerLink) -> None:
        self._link = link
        self._r: JSON = {}
        self._whole: tuple[NodeState, ...] = ()

    def poll(self) -> QueuePoll:
        """Poll once. Raises Refused, InstanceGone."""
        return QueuePoll(self._nodes(), self._counts(), self._stopped())

    def _ask(self, topic: str, payload: JSON | None = None) -> JSON:
        return self._link.rpc(topic, payload or {}, TIMEOUT)

    def _nodes(self) -> tuple[NodeState, ...]:
        answer = self._ask("resource.status")
        if answer["R"] != self._r:
            self._whole = nodes_of(answer["R"])
            self._r = answer["R"]
        up = frozenset(idset.decode(answer["online"]))
        # Excluded ranks get no jobs either, for an unknown time.
        drains = {answer.get("exclude") or "": {"reason": "excluded"}, **answer["drain"]}
        drained = {
            rank: str(each.get("reason") or "")
            for text, each in drains.items()
            for rank in idset.decode(text)
        }
        return tuple(
            node._replace(
                up=node.rank in up,
                drained=node.rank in drained,
                leaving=drained.get(node.rank, "").startswith(SHRINKING),
            )
            for node in self._whole
        )

    def _counts(self) -> Counts:
        answer = self._ask("job-list.job-stats")
        named = {str(each["name"]): each["job_states"] for each in answer.get("queues", ())}
        return Counts(answer["job_states"], named)

    def _stopped(self) -> frozenset[str]:
        statuses = queues.statuses(self._ask)
        stopped = (name for name, answer in statuses.items() if not answer["start"])
        return frozenset(name or names.ANONYMOUS_QUEUE for name in stopped)


def nodes_of(resources: Any) -> tuple[NodeState, ...]:
    """Return the nodes of an R, in the order of their ranks."""
    return tuple(
        NodeState(node.rank, node.host, idset.size_of(node.cores), idset.size_of(node.gpus), node.properties)
        for node in resource_set.nodes_of(resources)
    )
