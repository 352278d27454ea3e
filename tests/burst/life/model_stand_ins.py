"""Stand-ins at a lead as a model: what isolated bursts ask of one, in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.errors import LeadAway, SpoolRefused, StandInRefused
from burst.lifecycle.isolation import StandIn
from tests.burst.life.model_lead import ModelJob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.burst.life.meter import Meter
    from tests.burst.life.model_lead import ModelLead

STOOD_IN = "stood in"
"""The queue of an original: nothing starts there."""


@dataclass
class ModelEnd:
    """How the job elsewhere ended."""

    status: int
    digest: str
    note: str


@dataclass
class ModelStandIn:
    """A job that stands in, with its spool."""

    original: int
    jobs: list[int]
    """Its ids, one after the other."""
    streams: dict[str, bytes] = field(default_factory=dict)
    end: ModelEnd | None = None
    is_over: bool = False
    is_canceled: bool = False
    delivered: dict[str, bytes] = field(default_factory=dict)
    """What it has printed and written, once it is done."""


class ModelStandIns:
    """The stand-ins of a lead. `pass_time` lets those end whose end was written."""

    def __init__(self, lead: ModelLead, most: int = 1 << 20) -> None:
        self.lead = lead
        self.by_label: dict[str, ModelStandIn] = {}
        self.specs: dict[int, Mapping[str, Any]] = {}
        self.is_full = False
        """The disk of the lead is full."""
        self._most = most

    def kill(self, label: str) -> None:
        """Let a stand-in be killed."""
        self.by_label[label].is_over = True

    def cancel(self, label: str) -> None:
        """Let somebody cancel it."""
        self.by_label[label].is_over = self.by_label[label].is_canceled = True

    def pass_time(self) -> None:
        """Let those deliver that have all."""
        for found in self.by_label.values():
            if found.end is not None and not found.is_over:
                found.delivered, found.streams, found.is_over = dict(found.streams), {}, True
                self.lead.jobs[found.original].queue = "done"

    # -- what isolated bursts ask ------------------------------------------------------------------------

    def stand_in(self, label: str, job: int) -> None:
        found = self.by_label.get(label)
        if found is not None:
            if found.is_over and found.end is None and not found.is_canceled:
                found.jobs.append(self._submitted())
                found.is_over = False
            return
        original = self.lead.jobs[job]
        if original.ends is not None or original.runs or original.queue in ("done", "failed"):
            raise StandInRefused("it has started")
        original.queue = STOOD_IN
        self.by_label[label] = ModelStandIn(job, [self._submitted()])

    def _submitted(self) -> int:
        number = len(self.lead.jobs) + 1
        self.lead.jobs[number] = ModelJob(0, math.inf, STOOD_IN)
        return number

    def standing(self, label: str) -> StandIn | None:
        found = self.by_label.get(label)
        if found is None:
            return None
        received = {stream: len(data) for stream, data in found.streams.items()}
        return StandIn(found.jobs[-1], True, found.is_over, found.is_canceled, received)

    def write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        found = self._open(label)
        if self.is_full:
            raise LeadAway("the lead: no space left on device")
        there = found.streams.get(stream, b"")
        if offset <= len(there):
            there = there[:offset] + data if offset + len(data) > len(there) else there
            if len(there) > self._most:
                raise SpoolRefused(f"{stream}: more than {self._most} bytes")
            found.streams[stream] = there
        return len(there)

    def finish(self, label: str, status: int, digest: str, note: str) -> None:
        self._open(label).end = ModelEnd(status, digest, note)

    def jobspec(self, job: int) -> Mapping[str, Any]:
        return self.specs[job]

    def _open(self, label: str) -> ModelStandIn:
        found = self.by_label.get(label)
        if found is None or found.is_canceled or (found.is_over and found.end is not None):
            raise SpoolRefused(f"burst {label} has no stand-in that waits for it")
        return found


class MeteredStandIns:
    """The same as isolated bursts reach it: each call is counted, and it may not answer."""

    def __init__(self, model: ModelStandIns, meter: Meter) -> None:
        self._model = model
        self._meter = meter

    async def stand_in(self, label: str, job: int) -> None:
        self._called("stand_in", label, job)

    async def standing(self, label: str) -> StandIn | None:
        found: StandIn | None = self._called("standing", label)
        return found

    async def write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        found: int = self._called("write", label, stream, offset, data)
        return found

    async def finish(self, label: str, status: int, digest: str, note: str) -> None:
        self._called("finish", label, status, digest, note)

    async def jobspec(self, job: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._called("jobspec", job)
        return found

    def _called(self, name: str, *arguments: Any) -> Any:
        if self._model.lead.is_away:
            raise LeadAway("the lead does not answer")
        try:
            return self._meter.call(f"lead {name}", getattr(self._model, name))(*arguments)
        except ConnectionResetError as error:
            raise LeadAway(str(error)) from None
