"""The world of bursts that do not join: a job has a stand-in at the lead, and runs elsewhere."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any

from burst.errors import ClusterGone
from burst.lifecycle.records import BEGUN_ANEW
from burst.providers.memory import NODES
from burst.service import BurstService
from tests.burst.life.model_remote import DIGEST, OUTPUT, RESULTS, MeteredRemote, ModelRemotes
from tests.burst.life.model_stand_ins import STOOD_IN, MeteredStandIns, ModelStandIns
from tests.burst.life.world import World, opened_as

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class IsolatedStandIns(ModelStandIns):
    """Those of a lead that can have a job begin anew as well."""

    may_restart = True

    def identity(self) -> str:
        return self.lead.instance

    def begin_anew(self, standing: int, job: int, _reason: str) -> str:
        [found] = [each for each in self.by_label.values() if standing in each.jobs]
        if not self.may_restart:
            return "lost: it is not to be started again"
        found.is_over = found.is_canceled = True
        self.lead.jobs[job].queue = "default"
        return f"{BEGUN_ANEW} as ƒ{job}"


class MeteredIsolatedLead(MeteredStandIns):
    """The same as bursting reaches it."""

    async def identity(self) -> str:
        found: str = self._called("identity")
        return found

    async def begin_anew(self, standing: int, job: int, reason: str) -> str:
        found: str = self._called("begin_anew", standing, job, reason)
        return found

    def _called(self, name: str, *arguments: Any) -> Any:
        if self._model.lead.is_gone:
            raise ClusterGone("its MiniCluster is gone")
        return super()._called(name, *arguments)


class IsolatedWorld(World):
    """A world whose bursts are isolated."""

    def __post_init__(self) -> None:
        self.remotes = ModelRemotes(self)
        self.stand_ins: IsolatedStandIns | None = None
        super().__post_init__()

    @property
    def standing(self) -> IsolatedStandIns:
        assert self.stand_ins is not None
        return self.stand_ins

    def begin(self) -> None:
        super().begin()
        self.stand_ins = self.stand_ins or IsolatedStandIns(self.lead)
        self.context = dataclasses.replace(
            self.context,
            stand_ins=lambda _cluster: MeteredIsolatedLead(self.standing, self.meter),
            remote=lambda burst: MeteredRemote(self.remotes, burst.label, self.meter),
        )
        self.service = BurstService(self.context)

    async def request(self, *nodes: int, seconds: float = 30.0, **given: Any) -> str:
        """Submit a burstable job, and ask for an instance of its own as it is planned."""
        self.remotes.seconds = seconds
        made = await super().request(*nodes, seconds=seconds, isolated=True, **given)
        self.standing.specs = {job: {} for job in self.lead.jobs}
        self.lead.jobs[1].queue = "waits"  # it never fits here
        return made

    async def tick(self) -> None:
        await super().tick()
        self.remotes.pass_time(self.now)
        self.standing.pass_time()

    def runs(self) -> int:
        """How often jobs have run to their ends, elsewhere and here."""
        there = [job.runs for remote in self.remotes.by_label.values() for job in remote.jobs]
        return sum(there) + sum(job.runs for job in self.lead.jobs.values())

    async def check(self) -> None:
        """Nothing leaked, nothing was doubled, the job has run once, and the lead has all that it wrote."""
        assert self.cloud.there() == []
        made = Counter(each.burst for each in self.cloud._made if each.key.kind == NODES)
        assert all(count == 1 for count in made.values()), made
        assert self.runs() == 1
        [standing] = self.standing.by_label.values()
        assert standing.delivered == {**OUTPUT, "results": RESULTS}
        assert standing.end is not None
        assert (standing.end.status, standing.end.digest) == (7 << 8, DIGEST)
        assert [self.lead.jobs[job].queue for job in standing.jobs] == [STOOD_IN] * len(standing.jobs)


def lived(scenario: Callable[[IsolatedWorld], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario in a world of its own."""

    async def work() -> Any:
        async with opened_as(IsolatedWorld) as world:
            return await scenario(world)

    return asyncio.run(work())
