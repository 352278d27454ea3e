"""Starting one task: its words, environment, directory, files and channels."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.embedded.execution.processes import MARKER
from minicluster.malleable.variables import ORDER_VARIABLE, PATH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.execution.messages import StartTasks

_TEMPLATE = re.compile(r"\{\{\s*([a-zA-Z0-9_.]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class RankLaunch:
    """One rank's part of a job, as the lead sends it (`exec-start`)."""

    id: int
    f58: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    name: str
    size: int
    nodes: int
    node: int  # index of this rank among the job's
    tasks: tuple[int, ...]
    cores: tuple[int, ...]
    gpus: tuple[int, ...]
    options: Mapping[str, Any]
    files: Mapping[str, Any]
    mapping: str
    credentials: str | None = None  # of a malleable job: the file's name in the job's directory
    order: int = 0  # by which these tasks are started
    part: int = 0  # how often tasks were started here before
    fresh: tuple[int, ...] | None = None  # of the tasks, those to start; None: all

    @classmethod
    def from_message(cls, message: StartTasks) -> RankLaunch:
        """Read the message's `share`."""
        raw: dict[str, Any] = {**message["share"]}
        for key in ("argv", "tasks", "cores", "gpus"):
            raw[key] = tuple(raw[key])
        raw["fresh"] = tuple(raw["fresh"]) if "fresh" in raw else None
        return cls(**raw)

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


@dataclass(frozen=True, slots=True)
class BrokerEnv:
    """The broker's values for the environment of every task."""

    uri: str
    rundir: Path
    marker: str  # instance part of MARKER


@dataclass(frozen=True, slots=True)
class StartedTask:
    """A running task and the broker's ends of its channels; `stdin` is None where it reads a file."""

    pid: int
    stdin: int | None
    stdout: int
    stderr: int
    pmi: socket.socket | None


def marker(broker: BrokerEnv, rank_launch: RankLaunch) -> str:
    """Return the job's value of MARKER."""
    return f"{broker.marker}.{rank_launch.id}"


def jobtmp(broker: BrokerEnv, rank_launch: RankLaunch) -> Path:
    """Return FLUX_JOB_TMPDIR."""
    return broker.rundir / f"jobtmp-{rank_launch.node}-{rank_launch.f58}"


def write_files(directory: Path, files: Mapping[str, Any]) -> None:
    """Make the job's directory, and write the text files of attributes.system.files (RFC 37) there."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, entry in files.items():
        path = directory / name
        path.write_text(entry["data"], encoding="utf-8", errors="surrogateescape")
        path.chmod(int(entry.get("mode", 0o600)) & 0o7777)


def start(rank_launch: RankLaunch, task: int, broker: BrokerEnv, cwd: str) -> StartedTask:
    """Start a task as the leader of its own session. Raises OSError where the command cannot be executed."""
    tmpdir = str(jobtmp(broker, rank_launch))
    argv = [rank_launch.expand(word, task, tmpdir) for word in rank_launch.argv]
    theirs: socket.socket | None = None
    ours: socket.socket | None = None
    if rank_launch.options.get("pmi") not in {"none", "off"}:
        ours, theirs = socket.socketpair()
    source = rank_launch.options.get("input", {}).get("stdin", {})
    stdin: Any = subprocess.PIPE
    try:
        with contextlib.ExitStack() as opened:
            if source.get("type") == "file":
                path = Path(cwd, rank_launch.expand(source["path"], task, tmpdir))
                stdin = opened.enter_context(path.open("rb"))
            env = environment(rank_launch, task, broker, None if theirs is None else theirs.fileno())
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=() if theirs is None else (theirs.fileno(),),
            )
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    finally:
        if theirs is not None:
            theirs.close()
    process.returncode = 0  # the Reaper collects it; Popen must not
    assert process.stdout is not None  # noqa: S101 - piped above
    assert process.stderr is not None  # noqa: S101 - piped above
    return StartedTask(
        process.pid,
        _detach(process.stdin) if process.stdin is not None else None,
        _detach(process.stdout),
        _detach(process.stderr),
        ours,
    )


def _detach(stream: Any) -> int:
    """Return the descriptor of a raw file object, which will not close it."""
    descriptor = os.dup(stream.fileno())
    stream.close()
    return descriptor


def environment(rank_launch: RankLaunch, task: int, broker: BrokerEnv, pmi: int | None) -> dict[str, str]:
    """Return the task's environment: the job's own, with the variables of Flux's shell."""
    env = {key: str(value) for key, value in rank_launch.env.items()}
    env.update(
        FLUX_URI=broker.uri,
        FLUX_JOB_ID=rank_launch.f58,
        FLUX_JOB_SIZE=str(rank_launch.size),
        FLUX_JOB_NNODES=str(rank_launch.nodes),
        FLUX_JOB_TMPDIR=str(jobtmp(broker, rank_launch)),
        FLUX_TASK_RANK=str(task),
        FLUX_TASK_LOCAL_ID=str(rank_launch.tasks.index(task)),
    )
    env[MARKER] = marker(broker, rank_launch)
    for name in (PATH_VARIABLE, ORDER_VARIABLE):  # of a job broker this instance
        env.pop(name, None)
    if rank_launch.credentials is not None:
        env[PATH_VARIABLE] = str(jobtmp(broker, rank_launch) / rank_launch.credentials)
    if rank_launch.order:
        env[ORDER_VARIABLE] = str(rank_launch.order)
    for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"):
        env.pop(name, None)
    if pmi is not None:
        env.update(PMI_FD=str(pmi), PMI_RANK=str(task), PMI_SIZE=str(rank_launch.size))
    if rank_launch.options.get("gpu-affinity") != "off":
        env.update(
            CUDA_VISIBLE_DEVICES=",".join(map(str, rank_launch.gpus)) or "-1", CUDA_DEVICE_ORDER="PCI_BUS_ID"
        )
    return env
