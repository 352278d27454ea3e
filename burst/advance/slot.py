"""What is done at the lead: ranks are tried, jobs move to the burst's queue, and back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from broker_config.formats.burst_names import DEFAULT_QUEUE
from burst.ledger import jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.advance.context import AdvanceContext
    from burst.lifecycle.records import AssignedJob, BurstRecord
    from burst.lifecycle.steps import Assign, Close, Conclude, NoteIdle, OpenQueue, Probe, Restart

RETURNED, RESTARTED = "returned", "restarted"


async def probe(context: AdvanceContext, burst: BurstRecord, step: Probe) -> None:
    """Try a job on ranks."""
    await context.lead(burst.cluster).probe(burst.slot, burst.label, step.ranks)


async def assign(context: AdvanceContext, burst: BurstRecord, step: Assign) -> None:
    """Move jobs into the burst's queue; one that has started meanwhile stays where it is."""
    answers = await context.lead(burst.cluster).move(step.jobs, burst.slot)
    moved = [job for job, refusal in answers.items() if not refusal]

    async def work(connection: AsyncConnection) -> None:
        await jobs.change(connection, burst.id, moved, moved_at=context.now())
        for job, refusal in answers.items():
            if refusal:
                await jobs.change(connection, burst.id, [job], outcome=refusal)
        text = f"{len(moved)} of {len(answers)} jobs are in its queue"
        await context.ledger.line(connection, burst.id, text)

    await context.ledger.write(work)


async def open_queue(context: AdvanceContext, burst: BurstRecord, _step: OpenQueue) -> None:
    """Start the burst's queue."""
    await context.lead(burst.cluster).start_queue(burst.slot)


async def note_idle(context: AdvanceContext, burst: BurstRecord, step: NoteIdle) -> None:
    """Write since when the burst has nothing to do."""
    text = "it has jobs again" if step.since is None else "it has nothing to do"
    await context.ledger.note(burst.id, text, idle_since=step.since)


async def close(
    context: AdvanceContext, burst: BurstRecord, step: Close, assigned: Sequence[AssignedJob]
) -> None:
    """Stop the queue, drain the ranks, and move waiting jobs back to where they came from."""
    lead = context.lead(burst.cluster)
    await lead.close(burst.slot, burst.nodes, f"minicluster: burst {burst.label}")
    origins = {each.job: each.origin for each in assigned}
    for queue in sorted({origins.get(job, DEFAULT_QUEUE) for job in step.jobs}):
        back = [job for job in step.jobs if origins.get(job, DEFAULT_QUEUE) == queue]
        answers = await lead.move(back, queue)
        returned = [job for job, refusal in answers.items() if not refusal]
        await _mark(context, burst, returned, RETURNED)


async def restart(context: AdvanceContext, burst: BurstRecord, step: Restart) -> None:
    """Have jobs that run on begin anew elsewhere."""
    await context.lead(burst.cluster).restart(step.jobs)
    await _mark(context, burst, step.jobs, RESTARTED)


async def conclude(context: AdvanceContext, burst: BurstRecord, step: Conclude) -> None:
    """Write what became of jobs."""
    outcomes = await context.lead(burst.cluster).conclude(burst.slot, step.jobs, burst.created)

    async def work(connection: AsyncConnection) -> None:
        for job in step.jobs:
            await jobs.change(connection, burst.id, [job], outcome=outcomes[job])
        for outcome, count in sorted(Counter(outcomes.values()).items()):
            await context.ledger.line(connection, burst.id, f"{_counted(count)} {outcome}")

    await context.ledger.write(work)


def _counted(jobs: int) -> str:
    return "1 job:" if jobs == 1 else f"{jobs} jobs:"


async def _mark(context: AdvanceContext, burst: BurstRecord, marked: Sequence[int], outcome: str) -> None:
    async def work(connection: AsyncConnection) -> None:
        await jobs.change(connection, burst.id, marked, outcome=outcome, returned_at=context.now())
        await context.ledger.line(connection, burst.id, f"{len(marked)} jobs are {outcome}")

    await context.ledger.write(work)
