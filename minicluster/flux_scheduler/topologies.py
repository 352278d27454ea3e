"""Asks each broker for the topology of its node, as its resource module has it from hwloc."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from minicluster.flux_scheduler.topology import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.flux_scheduler.topology import NodeTopology

_TOPIC = "resource.topo-get"
MAX_OPEN = 8
"""Requests without an answer: a topology may have some hundred kilobytes."""


class Topologies:
    """What is known of each rank. `changed` is called when no answer is missing any more.

    Without an answer a rank's cores are one domain; why is in the log.
    """

    def __init__(self, handle: Any, changed: Callable[[], None], log: Callable[[str], None]) -> None:
        self._handle = handle
        self._on_change = changed
        self._log = log
        self._up: set[int] = set()
        self._waiting: deque[int] = deque()
        self._open = 0
        self._known: dict[NodeTopology, NodeTopology] = {}  # equal ones are one
        self.by_rank: dict[int, NodeTopology] = {}

    def follow(self, up: Iterable[int]) -> None:
        """Ask the ranks that have come since the last call; their nodes may be others than before."""
        now = set(up)
        for rank in self._up - now:
            self.by_rank.pop(rank, None)
        self._waiting.extend(sorted(now - self._up))
        self._up = now
        self._ask()

    def _ask(self) -> None:
        while self._waiting and self._open < MAX_OPEN:
            rank = self._waiting.popleft()
            if rank in self._up:
                self._open += 1
                self._handle.rpc(_TOPIC, nodeid=rank).then(self._on_answer, rank)

    def _on_answer(self, future: Any, rank: int) -> None:
        """Keep an answer. Raises nothing, as that would end the module."""
        self._open -= 1
        try:
            found = parse(future.get_str() or "")
            self.by_rank[rank] = self._known.setdefault(found, found)
        except Exception as error:  # noqa: BLE001 - see above
            self._log(f"rank {rank}: its NUMA domains are not known: {type(error).__name__}: {error}")
        self._ask()
        if not self._open:
            self._on_change()
