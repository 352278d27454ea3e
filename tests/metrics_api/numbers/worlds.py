"""Instances for the tests of numbers: by hand, and by hypothesis."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from metrics_api.numbers.records import AllocatedJob, Hold, NodeState, PendingGroup, SlotRequest, Snapshot


def nodes(count: int, cores: int = 4, up: int | None = None, gpus: int = 0) -> tuple[NodeState, ...]:
    """Return equal nodes; the first `up` of them are up."""
    return tuple(NodeState(r, f"mc-{r}", cores, gpus, up=up is None or r < up) for r in range(count))


def world(count: int = 4, cores: int = 4, up: int | None = None, gpus: int = 0) -> Snapshot:
    """An idle instance of 1 to `count` nodes."""
    return Snapshot(nodes(count, cores, up, gpus), 1, count)


def wait(snapshot: Snapshot, request: SlotRequest, count: int = 1, **more: object) -> Snapshot:
    """The same with jobs that wait."""
    each = PendingGroup(
        request, **{"queue": "default", "group": "root", "count": count, "since": 10.0, **more}
    )  # type: ignore[arg-type]
    return replace(snapshot, pending=(*snapshot.pending, each))


def run(snapshot: Snapshot, *allocation: tuple[int, int], **more: object) -> Snapshot:
    """The same with a job that runs: (rank, cores), …"""
    cores_by_rank = tuple((rank, cores, 0) for rank, cores in allocation)
    each = AllocatedJob(**{"queue": "default", "group": "root", "allocation": cores_by_rank, **more})  # type: ignore[arg-type]
    return replace(snapshot, running=(*snapshot.running, each))


def change(snapshot: Snapshot, rank: int, **more: object) -> Snapshot:
    """The same with one node that is otherwise."""
    changed = tuple(n._replace(**more) if n.rank == rank else n for n in snapshot.nodes)  # type: ignore[arg-type]
    return replace(snapshot, nodes=changed)


constraints = st.sampled_from(
    [
        None,
        None,
        ("properties", "big"),
        ("properties", "^big"),
        ("ranks", "2-3"),
        ("hostlist", "mc-0"),
        ("not", ("ranks", "0")),
    ]
)
requests = st.builds(
    SlotRequest,
    nodes=st.integers(0, 5),
    slots=st.integers(1, 6),
    cores=st.integers(1, 6),
    gpus=st.integers(0, 1),
    exclusive=st.booleans(),
    constraint=constraints,
    least=st.just(0),
    most=st.just(0),
)
pendings = st.builds(
    PendingGroup,
    request=requests,
    queue=st.sampled_from(["batch", "debug"]),
    group=st.sampled_from(["a", "b"]),
    count=st.integers(1, 6),
    hold=st.sampled_from([Hold.NONE, Hold.NONE, Hold.NONE, Hold.HELD, Hold.DEPENDENCY]),
    since=st.floats(0, 100),
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Instances of up to eight nodes, some down, drained or used, with jobs that run and wait."""
    size = draw(st.integers(1, 8))
    made = tuple(
        NodeState(
            rank,
            f"mc-{rank}",
            draw(st.integers(1, 6)),
            draw(st.integers(0, 2)),
            frozenset(draw(st.sets(st.sampled_from(["big", "old"])))),
            draw(st.booleans()),
            draw(st.sampled_from([False, False, False, True])),
            draw(st.booleans()),
        )
        for rank in range(size)
    )
    free = {node.rank: [node.cores, node.gpus] for node in made}
    running = []
    for _ in range(draw(st.integers(0, 4))):
        allocation = []
        for rank in draw(st.sets(st.integers(0, size - 1), min_size=1)):
            if free[rank][0]:
                taken = draw(st.integers(1, free[rank][0]))
                free[rank][0] -= taken
                allocation.append((rank, taken, 0))
        if allocation:
            running.append(AllocatedJob(draw(st.sampled_from(["batch", "debug"])), "a", tuple(allocation)))
    pending = tuple(draw(st.lists(pendings, max_size=5)))
    return Snapshot(made, draw(st.integers(1, size)), size, pending, tuple(running))
