"""Passes standard input on from a client to the tasks of a job."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.embedded.errors import RpcError
from minicluster.embedded.execution.messages import WriteInput

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.lead.runs import Runs
    from minicluster.embedded.execution.messages import InputTaken
    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import RpcRequest


@dataclass(slots=True)
class InputPiece:
    """A piece of standard input that was sent to ranks."""

    job: int
    ranks: set[int]
    """Those that have not taken it yet."""
    taken: asyncio.Future[None]

    def take(self, rank: int) -> None:
        """Note that this rank took the piece, or has left the job."""
        self.ranks.discard(rank)
        if not self.ranks and not self.taken.done():
            self.taken.set_result(None)


class StandardInput:
    """Sends each piece to the ranks of its tasks, and answers once all have taken it."""

    def __init__(self, runs: Runs, overlay: LeadOverlay) -> None:
        self._runs = runs
        self._overlay = overlay
        self._loop = asyncio.get_running_loop()
        self._inputs: dict[int, InputPiece] = {}
        self._sequence = 0

    async def send(self, request: RpcRequest) -> JSON:
        """job-exec.stdin: {id, task: int | "all", data, eof} → {} once the tasks took the data."""
        run = self._runs.by_id.get(request.need("id", int))
        if run is None:
            raise RpcError(errno.ENOENT, "job is not running")
        task: Any = request.payload.get("task", "all")
        data = str(request.payload.get("data", "")).encode("utf-8", "surrogateescape")
        ranks = {rank for rank in run.running if task == "all" or task in run.nodes[rank].tasks}
        self._sequence += 1
        sequence = self._sequence
        piece = self._inputs[sequence] = InputPiece(run.id, set(ranks), self._loop.create_future())
        message = WriteInput(
            type="exec-stdin",
            job=run.id,
            task=None if task == "all" else task,
            eof=bool(request.payload.get("eof")),
            seq=sequence,
        )
        try:
            for rank in ranks:
                self._overlay.send(rank, message, data)
            if ranks:
                await piece.taken
        finally:
            del self._inputs[sequence]
        return {}

    def taken(self, _run: Run, rank: int, message: InputTaken, _body: bytes) -> None:
        """The tasks of a rank took a piece."""
        piece = self._inputs.get(message["seq"])
        if piece is not None:
            piece.take(rank)

    def rank_left(self, run: Run, rank: int) -> None:
        """A rank takes no more input of the job."""
        for piece in tuple(self._inputs.values()):
            if piece.job == run.id:
                piece.take(rank)
