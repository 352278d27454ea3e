"""What a rank is to start of a job: the lead writes this record into `exec-start`, and the rank reads it."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.execution.messages import RankLimit

_TEMPLATE = re.compile(r"\{\{\s*([a-zA-Z0-9_.]+)\s*\}\}")
_TUPLES = ("argv", "tasks", "cores", "gpus", "fresh", "cpus")


@dataclass(frozen=True, slots=True)
class RankWorker:
    """Some tasks of a rank with one common set of cores."""

    tasks: tuple[int, ...]
    """Their numbers in the job."""
    cores: tuple[int, ...]
    number: int | None = None
    """The worker's number in the job; None for a malleable job, whose workers are its tasks."""

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> RankWorker:
        """Read what a message has."""
        return cls(tuple(fields["tasks"]), tuple(fields["cores"]), fields["number"])


@dataclass(frozen=True, slots=True)
class RankLaunch:
    """One rank's part of a job. Of each task: its number in the job."""

    id: int
    f58: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    name: str
    size: int
    nodes: int
    node: int
    """The index of this rank among the job's."""
    tasks: tuple[int, ...]
    cores: tuple[int, ...]
    gpus: tuple[int, ...]
    options: Mapping[str, Any]
    """Of the shell, as the jobspec has them."""
    files: Mapping[str, Any]
    """As in RFC 37."""
    mapping: str
    credentials: str | None = None
    """Of a malleable job: the file's name in the job's directory."""
    order: int = 0
    """The resize request by which these tasks are started."""
    part: int = 0
    """How often tasks were started here before."""
    fresh: tuple[int, ...] | None = None
    """Of the tasks, those to start; None: all."""
    owner: int | None = None
    """The uid of the instance's owner, who alone has jobs; None: it is not known."""
    cpus: tuple[int, ...] = ()
    """The CPU of each of `cores`, by the kernel's numbers; (): it is not known, or there are too few."""
    affinity: str = "off"
    """What holds without the shell option `cpu-affinity`: one of its words, or of `cpu_binding`'s."""
    workers: tuple[RankWorker, ...] = ()
    """The task workers; (): the job has none."""
    limit: RankLimit | None = None
    """Its CPU limit, where jobs may share cores; None: nothing is limited or measured."""

    def refusal(self, user: int) -> str:
        """Return why a broker of this uid may not start it, in Flux's words; empty: it may."""
        if self.owner in {None, user}:
            return ""
        return f"failed to unwrap J: sign-none-unwrap: signing userid {self.owner} != current {user}"

    def fields(self) -> dict[str, Any]:
        """Return what the message has: nothing for a field that is at its default."""
        found = {
            name: value for name, default in _DEFAULTS.items() if (value := getattr(self, name)) != default
        }
        if self.workers:
            found["workers"] = [dataclasses.asdict(each) for each in self.workers]
        return found

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> RankLaunch:
        """Read what a message has."""
        read: dict[str, Any] = {
            name: tuple(value) if name in _TUPLES else value for name, value in fields.items()
        }
        if "workers" in read:
            read["workers"] = tuple(map(RankWorker.of_fields, read["workers"]))
        return cls(**read)

    def worker_of(self, task: int) -> int | None:
        """Return the number of a task's worker; None where the job has none."""
        return next((each.number for each in self.workers if task in each.tasks), None)

    def expand(self, text: str, task: int | None, tmpdir: str) -> str:
        """Replace Flux's {{…}} templates; unknown ones stay."""
        if "{{" not in text:
            return text
        values = {
            **dict.fromkeys(("id", "id.f58", "jobid"), self.f58),
            "id.dec": str(self.id),
            "name": self.name,
            "tmpdir": tmpdir,
            "size": str(self.size),
            "nnodes": str(self.nodes),
            "node.id": str(self.node),
        }
        if task is not None:
            values |= dict.fromkeys(("taskid", "task.id", "task.rank"), str(task))
        return _TEMPLATE.sub(lambda found: values.get(found[1], found[0]), text)


_DEFAULTS = {field.name: field.default for field in dataclasses.fields(RankLaunch)}
"""The default of each field; MISSING for one that has none."""
