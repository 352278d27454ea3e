"""Brokers that are asked for their topologies, played; no Flux is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.lead.hwloc_xml import topology_xml

if TYPE_CHECKING:
    from collections.abc import Callable

TWO = topology_xml([[0], [1]], [[0], [1]])


@dataclass
class TopologyAnswer:
    """What a future of Flux has: a text, or an error."""

    text: str = ""
    error: OSError | None = None

    def get_str(self) -> str:
        if self.error is not None:
            raise self.error
        return self.text


@dataclass
class TopologyRequest:
    rank: int
    call: Callable[..., None] | None = None
    args: tuple[Any, ...] = ()

    def then(self, call: Callable[..., None], *args: Any) -> None:
        self.call, self.args = call, args


@dataclass
class BrokersHandle:
    """The handle of the lead broker, played. `config` is [minicluster] of broker.toml."""

    config: dict[str, Any] | None = None
    requests: list[TopologyRequest] = field(default_factory=list)

    def conf_get(self, name: str) -> dict[str, Any] | None:
        assert name == "minicluster"
        return self.config

    def rpc(self, topic: str, *, nodeid: int) -> TopologyRequest:
        assert topic == "resource.topo-get"
        self.requests.append(TopologyRequest(nodeid))
        return self.requests[-1]

    def answer(self, rank: int, text: str = TWO, error: OSError | None = None) -> None:
        """Answer the first request that this rank got."""
        request = next(each for each in self.requests if each.rank == rank)
        self.requests.remove(request)
        assert request.call is not None
        request.call(TopologyAnswer(text, error), *request.args)

    @property
    def asked(self) -> list[int]:
        return [each.rank for each in self.requests]
