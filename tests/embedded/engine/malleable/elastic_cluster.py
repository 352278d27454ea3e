"""A bench of two nodes whose jobs are elastic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.embedded.engine.programs import Listener, Program

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = dict[str, Any]


class Cluster:
    """A bench of four cores on two nodes, under a policy."""

    def __init__(self, make: Callable[..., Any], table: JSON) -> None:
        self.listener = Listener()
        self.bench = make(config={"minicluster": table}, listener=self.listener)
        self.bench.listener = self.listener

    def elastic(self, least: int, most: int, *, malleable: bool = True, **options: Any) -> int:
        spec = options.pop("spec")
        spec["attributes"]["user"] = {"elastic": {"min": least, "max": most, "malleable": malleable}}
        jobid: int = self.bench.call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)["id"]
        if jobid in self.bench.running():
            self.bench.started(jobid)
        return jobid

    def size(self, jobid: int) -> tuple[int, int]:
        """Return the tasks and cores that listings show."""
        shown = self.bench.shown(jobid)
        return shown["ntasks"], shown["ncores"]

    @property
    def free(self) -> int:
        return int(self.bench.engine._manager.parts.scheduler.pool.free)

    def resizes(self, jobid: int) -> list[tuple[str, JSON]]:
        """Return the events about orders, without R."""
        return [
            (name, {k: v for k, v in context.items() if k in ("order", "size", "reason")})
            for name, context in self.bench.log(jobid)
            if name.startswith("res")
        ]


def grown(cluster: Cluster, job: int, program: Program) -> None:
    """Shrink the job for another one, which ends, so that it is ordered to grow again."""
    other = cluster.bench.submit(slots=2, urgency=20)
    program.send_message("release", order=1, workers=[2, 3])
    program.end(2, 3)
    cluster.bench.executor.tasks.clear()
    cluster.bench.finish(other)
    assert program.last_message == {"type": "grow", "order": 2, "hosts": ["mc-1", "mc-1"], "size": 4}
