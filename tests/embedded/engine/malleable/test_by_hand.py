"""Orders by hand in the engine: the RPC minicluster-sched.resize, and what a policy does after one."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import RpcError
from queue_policies.orders.program import BY_HAND_DELAY
from tests.embedded.engine.programs import Program

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.embedded.engine.malleable.elastic_cluster import Cluster

    Make = Callable[..., Cluster]
    Scenario = Callable[[Cluster, int, Program], Awaitable[None]]

DONE = {"before": 4}


def _run(kit: Any, make: Make, scenario: Scenario, policy: str = "fcfs", **table: Any) -> None:
    """Run a scenario with a registered job that holds all four cores, and runs with one to four workers."""

    async def run() -> None:
        cluster = make(policy, **table)
        job = cluster.elastic(1, 4, spec=kit.jobspec("app"))
        await scenario(cluster, job, Program(cluster.bench, job))

    asyncio.run(run())


async def _asked(cluster: Cluster, job: int, workers: int, *, wait: bool = True) -> asyncio.Task[Any]:
    call = cluster.bench.call("minicluster-sched.resize", id=job, workers=workers, wait=wait)
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    cluster.bench.loop.turn()
    return task


async def _refusal(cluster: Cluster, job: int, workers: int) -> tuple[int, str]:
    return await _failure(await _asked(cluster, job, workers))


async def _failure(asked: asyncio.Task[Any]) -> tuple[int, str]:
    with pytest.raises(RpcError) as refusal:
        await asked
    return refusal.value.errnum, refusal.value.text


def _shrink(program: Program, order: int, *workers: int) -> None:
    program.send_message("release", order=order, workers=list(workers))
    program.end(*workers)


def test_a_job_is_shrunk_and_grown(kit: Any, make: Make) -> None:
    """The request is answered when the order is done."""

    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        assert program.last_message == {"type": "shrink", "order": 1, "count": 2, "size": 2}
        assert not asked.done()
        _shrink(program, 1, 2, 3)
        assert (await asked, cluster.size(job), cluster.free) == (DONE, (2, 2), 2)
        asked = await _asked(cluster, job, 3)
        assert program.last_message == {"type": "grow", "order": 2, "hosts": ["mc-1"], "size": 3}
        program.send_message("accept", order=2)
        program.join(4, 2)
        program.send_message("done", order=2)
        assert (await asked, cluster.size(job)) == ({"before": 2}, (3, 3))
        assert cluster.resizes(job) == [
            ("resize-order", {"order": 1, "size": 2}),
            ("resource-update", {"order": 1, "size": 2}),
            ("resize-order", {"order": 2, "size": 3}),
            ("resource-update", {"order": 2, "size": 3}),
        ]

    _run(kit, make, scenario)


def test_who_does_not_wait_is_answered_at_once(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        assert await (await _asked(cluster, job, 1, wait=False)) == DONE
        assert (program.last_message["type"], cluster.size(job)) == ("shrink", (4, 4))

    _run(kit, make, scenario)


def test_the_size_that_it_has_is_no_order(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        assert await (await _asked(cluster, job, 4)) == DONE
        assert program.last_message["type"] == "registered"

    _run(kit, make, scenario)


def test_a_policy_leaves_the_job_alone_for_a_while(kit: Any, make: Make) -> None:
    """Without a gap it would give the cores back at once; another order by hand may come before."""

    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        _shrink(program, 1, 2, 3)
        await asked
        cluster.bench.loop.advance(BY_HAND_DELAY - 1)
        assert (program.last_message["type"], cluster.free) == ("released", 2)
        asked = await _asked(cluster, job, 1)
        _shrink(program, 2, 1)
        await asked
        cluster.bench.loop.advance(BY_HAND_DELAY - 1)
        assert (program.last_message["type"], cluster.free) == ("released", 3)
        cluster.bench.loop.advance(1)
        assert (program.last_message["type"], program.last_message["size"]) == ("grow", 4)

    _run(kit, make, scenario, "priority-elastic", gap=0)


def test_what_the_program_refuses(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        program.send_message("refuse", order=1, reason="amid a step")
        assert await _failure(asked) == (errno.ECANCELED, "refused: amid a step")
        assert cluster.size(job) == (4, 4)

    _run(kit, make, scenario)


def test_what_the_program_does_not_answer(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        cluster.bench.loop.advance(60)
        assert await _failure(asked) == (errno.ECANCELED, "expired: no answer in 60 s")
        assert program.last_message["type"] == "expired"

    _run(kit, make, scenario)


def test_a_job_that_ends_first(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, _program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        cluster.bench.finish(job)
        assert (await _failure(asked))[0] == errno.ECANCELED
        assert await _refusal(cluster, job, 2) == (errno.ENOENT, "job is inactive")

    _run(kit, make, scenario)


def test_who_hangs_up_leaves_the_order_as_it_is(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 2)
        asked.cancel()
        await asyncio.sleep(0)
        _shrink(program, 1, 2, 3)
        assert (asked.cancelled(), cluster.size(job)) == (True, (2, 2))

    _run(kit, make, scenario)


def test_an_order_during_another_one(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, _program: Program) -> None:
        await _asked(cluster, job, 2, wait=False)
        assert await _refusal(cluster, job, 3) == (errno.EINVAL, "has another order under way")

    _run(kit, make, scenario)


@pytest.mark.parametrize("workers", [0, 5])
def test_a_size_out_of_bounds(kit: Any, make: Make, workers: int) -> None:
    async def scenario(cluster: Cluster, job: int, _program: Program) -> None:
        message = f"runs with 1 to 4 workers here, not with {workers}"
        assert await _refusal(cluster, job, workers) == (errno.EINVAL, message)

    _run(kit, make, scenario)


def test_cores_that_others_have(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        asked = await _asked(cluster, job, 1)
        _shrink(program, 1, 1, 2, 3)
        await asked
        cluster.bench.submit(slots=2)
        message = "has no room for 4 workers: what is free now allows 2"
        assert await _refusal(cluster, job, 4) == (errno.EINVAL, message)

    _run(kit, make, scenario)


def test_a_program_that_has_gone(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, program: Program) -> None:
        program.send_message("deregister")
        message = "takes no orders: its program has deregistered"
        assert await _refusal(cluster, job, 2) == (errno.EINVAL, message)

    _run(kit, make, scenario)


def test_other_jobs(kit: Any, make: Make) -> None:
    """Rigid ones before any malleable one has run; waiting ones; and none."""

    async def run() -> None:
        cluster = make("fcfs")
        runs, waits = cluster.bench.submit(slots=4), cluster.bench.submit()
        rigid = "is not malleable: it was not submitted with user.elastic.malleable=true"
        assert await _refusal(cluster, runs, 2) == (errno.EINVAL, rigid)
        assert await _refusal(cluster, waits, 2) == (errno.EINVAL, "is not running")
        assert await _refusal(cluster, 77, 2) == (errno.ENOENT, "unknown job id")

    asyncio.run(run())


def test_a_request_that_is_none(kit: Any, make: Make) -> None:
    async def scenario(cluster: Cluster, job: int, _program: Program) -> None:
        call = cluster.bench.call("minicluster-sched.resize", id=job, workers="2", wait=True)
        with pytest.raises(RpcError, match="'workers' is missing or of the wrong type"):
            await call

    _run(kit, make, scenario)
