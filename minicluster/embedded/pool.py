"""The instance's nodes, cores and GPUs: who has what, and where a request fits, low ranks first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from broker_config import hostlist, idset
from minicluster.embedded import elastic
from minicluster.embedded.jobspec import Constraint, Resources
from minicluster.embedded.resource_set import Holding, Node, R, Share, encode, nodes_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from queue_policies.records import Request, Sketch


class Placing:
    """Free resources by rank, and what jobs hold. `Pool` is the real one, `Trial` a scratch copy of it."""

    def __init__(self, nodes: tuple[Node, ...], matches: _Matches) -> None:
        self.nodes = nodes
        self._matches = matches
        self.free = 0  # cores on ranks that can be given out

    def _share(self, rank: int) -> Share:
        raise NotImplementedError

    def _set_share(self, rank: int, share: Share) -> None:
        raise NotImplementedError

    def _usable(self, rank: int) -> bool:
        raise NotImplementedError

    def fits(self, request: Request) -> bool:
        """Whether `request` could be placed now."""
        return self.place(request) is not None

    def place(self, request: Request, beside: Container[int] = ()) -> Holding | None:
        """Where `request` would go, not to the ranks `beside`, or None."""
        if not isinstance(request, Resources):
            raise TypeError(f"{request!r} is no request for nodes and cores")
        if request.size > self.free:
            return None
        matching = self._matches.ranks(request.constraint)
        ranks = (rank for rank in matching if self._usable(rank) and rank not in beside)
        if request.exclusive:
            return self._whole_nodes(request, ranks)
        if request.nodes:
            return self._nodes(request, ranks)
        return self._slots(request, ranks)

    def _whole_nodes(self, request: Resources, ranks: Iterable[int]) -> Holding | None:
        """Nodes of which no core is used; a request without nodes takes one a slot."""
        count, slots = (request.nodes, request.slots) if request.nodes else (request.slots, 1)
        found: Holding = {}
        for rank in ranks:
            node = self.nodes[rank]
            whole = (node.cores, node.gpus)
            if self._share(rank) == whole and _slots_on(whole, request) >= slots:
                found[rank] = whole
                if len(found) == count:
                    return found
        return None

    def _nodes(self, request: Resources, ranks: Iterable[int]) -> Holding | None:
        found: Holding = {}
        for rank in ranks:
            share = self._share(rank)
            if _slots_on(share, request) >= request.slots:
                found[rank] = _cut(share, request, request.slots)
                if len(found) == request.nodes:
                    return found
        return None

    def _slots(self, request: Resources, ranks: Iterable[int]) -> Holding | None:
        found: Holding = {}
        missing = request.slots
        for rank in ranks:
            share = self._share(rank)
            slots = min(_slots_on(share, request), missing)
            if slots:
                found[rank] = _cut(share, request, slots)
                missing -= slots
                if not missing:
                    return found
        return None

    def _occupy(self, holding: Holding) -> None:
        for rank, (cores, gpus) in holding.items():
            free = self._share(rank)
            self._set_share(rank, (free[0] & ~cores, free[1] & ~gpus))
            if self._usable(rank):
                self.free -= cores.bit_count()

    def _vacate(self, holding: Holding) -> None:
        for rank, (cores, gpus) in holding.items():
            free = self._share(rank)
            self._set_share(rank, (free[0] | cores, free[1] | gpus))
            if self._usable(rank):
                self.free += cores.bit_count()


class Pool(Placing):
    """The real resources."""

    def __init__(self, resources: R) -> None:
        nodes = nodes_of(resources)
        super().__init__(nodes, _Matches(nodes))
        self._shares = [(node.cores, node.gpus) for node in nodes]
        self._holdings: dict[int, Holding] = {}
        self.up: set[int] = set()
        self.drained: set[int] = set()
        self.total = sum(node.cores.bit_count() for node in nodes)

    def _share(self, rank: int) -> Share:
        return self._shares[rank]

    def _set_share(self, rank: int, share: Share) -> None:
        self._shares[rank] = share

    def _usable(self, rank: int) -> bool:
        return rank in self.up and rank not in self.drained

    def sketch(self) -> Sketch:
        """The present state, to try things on."""
        return Trial(self)

    def set_up(self, rank: int, up: bool) -> None:
        """A broker came or went."""
        (self.up.add if up else self.up.discard)(rank)
        self._recount()

    def set_drained(self, rank: int, drained: bool) -> None:
        """A drained rank keeps its jobs and gets no new ones."""
        (self.drained.add if drained else self.drained.discard)(rank)
        self._recount()

    def _recount(self) -> None:
        self.free = sum(self._shares[rank][0].bit_count() for rank in self.up - self.drained)

    def alloc(self, job: int, request: Request) -> Holding | None:
        """Give the job its resources, or None where they are not free now."""
        holding = self.place(request)
        if holding is not None:
            self.hold(job, holding)
        return holding

    def hold(self, job: int, holding: Holding) -> None:
        """The job has exactly these resources."""
        self._occupy(holding)
        self._holdings[job] = holding

    def release(self, job: int) -> None:
        """Take the job's resources back."""
        self._vacate(self._holdings.pop(job, {}))

    def extend(self, job: int, request: Resources) -> Holding | None:
        """Give the job this much besides what it has, new nodes where it asks for nodes, or None."""
        held = self._holdings.get(job, {})
        more = self.place(request, held if request.nodes or request.exclusive else ())
        if more is not None:
            self.add(job, more)
        return more

    def add(self, job: int, more: Holding) -> None:
        """The job has these, which are free, besides what it has."""
        self._occupy(more)
        held = dict(self._holdings.get(job, {}))
        for rank, (cores, gpus) in more.items():
            had = held.get(rank, (0, 0))
            held[rank] = (had[0] | cores, had[1] | gpus)
        self._holdings[job] = held

    def reduce(self, job: int, part: Holding) -> None:
        """Take back a part of what the job has."""
        self._vacate(part)
        held = dict(self._holdings.get(job, {}))
        for rank, (cores, gpus) in part.items():
            held[rank] = (held[rank][0] & ~cores, held[rank][1] & ~gpus)
            if held[rank] == (0, 0):
                del held[rank]
        self._holdings[job] = held

    def holding(self, job: int) -> Holding:
        """What the job holds."""
        return self._holdings.get(job, {})

    def allocated(self) -> Holding:
        """What is held by all jobs together."""
        held = (
            (n.rank, (n.cores & ~s[0], n.gpus & ~s[1])) for n, s in zip(self.nodes, self._shares, strict=True)
        )
        return {rank: share for rank, share in held if share != (0, 0)}

    def infeasible(self, request: Resources) -> str | None:
        """Why the request can never be satisfied, in Flux's words, or None."""
        nodes = [self.nodes[rank] for rank in self._matches.ranks(request.constraint)]
        return _infeasible(nodes, request)

    def counted(self, request: Resources) -> Resources:
        """An elastic job's request as it is counted, see `elastic.counted`."""
        return elastic.counted(
            request, (self.nodes[rank].cores.bit_count() for rank in self._matches.ranks(request.constraint))
        )

    def encode(self, shares: Mapping[int, Share], **execution: Any) -> R:
        """An R with these resources."""
        return encode(self.nodes, shares, **execution)

    def whole(self, ranks: Iterable[int]) -> Holding:
        """All resources of some ranks."""
        return {rank: (self.nodes[rank].cores, self.nodes[rank].gpus) for rank in ranks}


class Trial(Placing):
    """A scratch copy: only the ranks that were touched are copied."""

    def __init__(self, pool: Pool, origin: Trial | None = None) -> None:
        super().__init__(pool.nodes, pool._matches)
        self._pool = pool
        self.free = pool.free if origin is None else origin.free
        self._changed: dict[int, Share] = {} if origin is None else dict(origin._changed)
        self._placed: dict[int, Holding] = {} if origin is None else dict(origin._placed)

    def _share(self, rank: int) -> Share:
        changed = self._changed.get(rank)
        return self._pool._shares[rank] if changed is None else changed

    def _set_share(self, rank: int, share: Share) -> None:
        self._changed[rank] = share

    def _usable(self, rank: int) -> bool:
        return self._pool._usable(rank)

    def take(self, job: int, request: Request) -> bool:
        """Place the request for the job and return True, or change nothing and return False."""
        holding = self.place(request)
        if holding is None:
            return False
        self._hold(job, holding)
        return True

    def _hold(self, job: int, holding: Holding) -> None:
        self._occupy(holding)
        self._placed[job] = holding

    def holds(self, job: int) -> bool:
        """Whether the job was placed here."""
        return job in self._placed

    def give(self, job: int) -> None:
        """Return what a job holds, whether it runs in reality or was placed here."""
        placed = self._placed.pop(job, None)
        self._vacate(self._pool.holding(job) if placed is None else placed)

    def mirror(self, other: Sketch, job: int) -> None:
        """Take exactly what the job was given in `other`."""
        self._hold(job, cast("Trial", other)._placed[job])

    def copy(self) -> Trial:
        """An independent copy."""
        return Trial(self._pool, self)


class _Matches:
    """Which ranks match a constraint (RFC 31), remembered."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._nodes = nodes
        self._known: dict[Constraint | None, tuple[int, ...]] = {None: tuple(range(len(nodes)))}

    def ranks(self, constraint: Constraint | None) -> tuple[int, ...]:
        known = self._known.get(constraint)
        if known is None:
            if len(self._known) > 1000:
                del self._known[next(c for c in self._known if c is not None)]
            known = tuple(node.rank for node in self._nodes if matches(node, constraint))
            self._known[constraint] = known
        return known


def matches(node: Node, constraint: Constraint | None) -> bool:
    """Whether a node satisfies a constraint, as `jobspec` made it."""
    if constraint is None:
        return True
    operator, *values = constraint
    if operator in ("and", "not"):
        return all(matches(node, value) for value in values) is (operator == "and")
    if operator == "or":
        return not values or any(matches(node, value) for value in values)
    if operator == "properties":
        return all((v.removeprefix("^") in node.properties) != v.startswith("^") for v in values)
    if operator == "hostlist":
        return any(node.host in hostlist.decode(value) for value in values)
    return any(node.rank in idset.decode(value) for value in values)


def _infeasible(nodes: list[Node], request: Resources) -> str | None:
    wholes = [(node.cores, node.gpus) for node in nodes]
    if request.exclusive:
        count, slots = (request.nodes, request.slots) if request.nodes else (request.slots, 1)
        eligible = sum(_slots_on(whole, request) >= slots for whole in wholes)
        if eligible < count:
            return f"unsatisfiable request: need {count} exclusive node(s), only {eligible} eligible"
    elif request.nodes:
        eligible = sum(_slots_on(whole, request) >= request.slots for whole in wholes)
        if eligible < request.nodes:
            gpus = f" and {request.slots * request.gpus} GPUs" if request.gpus else ""
            return (
                f"unsatisfiable request: need {request.nodes} node(s) with {request.slots * request.cores} "
                f"cores{gpus} each, only {eligible} eligible"
            )
    else:
        return _too_few_slots(wholes, request)
    return None


def _too_few_slots(wholes: list[Share], request: Resources) -> str | None:
    slots = sum(cores.bit_count() // request.cores for cores, _ in wholes)
    if slots < request.slots:
        total = sum(cores.bit_count() for cores, _ in wholes)
        return (
            f"unsatisfiable request: need {request.slots} slot(s) of {request.cores} core(s), only {slots} "
            f"such slot(s) available (total cores: {total})"
        )
    slots = sum(_slots_on(whole, request) for whole in wholes)
    if slots < request.slots:
        total = sum(gpus.bit_count() for _, gpus in wholes)
        return (
            f"unsatisfiable request: need {request.slots} slot(s) with {request.gpus} GPU(s) each, only "
            f"{slots} available (total GPUs: {total})"
        )
    return None


def _slots_on(share: Share, request: Resources) -> int:
    cores, gpus = share
    slots = cores.bit_count() // request.cores
    return min(slots, gpus.bit_count() // request.gpus) if request.gpus else slots


def _cut(share: Share, request: Resources, slots: int) -> Share:
    """The lowest cores and GPUs for some slots."""
    return _lowest(share[0], slots * request.cores), _lowest(share[1], slots * request.gpus)


def _lowest(bits: int, count: int) -> int:
    rest = bits
    for _ in range(count):
        rest &= rest - 1
    return bits ^ rest
