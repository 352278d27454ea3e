"""Starting one task: its words, environment, directory, files and channels."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.embedded.execution.processes import MARKER
from minicluster.malleable.variables import ORDER_VARIABLE, PATH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.embedded.execution.rank_launch import RankLaunch

WORKER_VARIABLE = "MINICLUSTER_WORKER"
"""The number of the task's worker in the job, in jobs that have task workers."""


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


def start(
    rank_launch: RankLaunch,
    task: int,
    broker: BrokerEnv,
    cwd: str,
    enter: Callable[[], None] | None = None,
) -> StartedTask:
    """Start a task as the leader of its own session, on the CPUs of this thread.

    `enter` is called in its process before the command begins. Raises OSError where the command cannot be
    executed.
    """
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
                preexec_fn=enter,  # noqa: PLW1509 - a broker has one thread
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
    tmpdir = str(jobtmp(broker, rank_launch))
    env = {key: str(value) for key, value in rank_launch.env.items()}
    templates: Mapping[str, Any] = rank_launch.options.get("env-expand", {})
    env.update((key, rank_launch.expand(str(text), task, tmpdir)) for key, text in templates.items())
    env.update(
        FLUX_URI=broker.uri,
        FLUX_JOB_ID=rank_launch.f58,
        FLUX_JOB_SIZE=str(rank_launch.size),
        FLUX_JOB_NNODES=str(rank_launch.nodes),
        FLUX_JOB_TMPDIR=tmpdir,
        FLUX_TASK_RANK=str(task),
        FLUX_TASK_LOCAL_ID=str(rank_launch.tasks.index(task)),
    )
    env[MARKER] = marker(broker, rank_launch)
    env.pop(WORKER_VARIABLE, None)  # of a job broker this instance
    if (worker := rank_launch.worker_of(task)) is not None:
        env[WORKER_VARIABLE] = str(worker)
    for name in (PATH_VARIABLE, ORDER_VARIABLE):  # of a job broker this instance
        env.pop(name, None)
    if rank_launch.credentials is not None:
        env[PATH_VARIABLE] = f"{tmpdir}/{rank_launch.credentials}"
    if rank_launch.order:
        env[ORDER_VARIABLE] = str(rank_launch.order)
    for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"):
        env.pop(name, None)
    if pmi is not None:
        env.update(PMI_FD=str(pmi), PMI_RANK=str(task), PMI_SIZE=str(rank_launch.size))
    if rank_launch.options.get("gpu-affinity") != "off":
        env.update(CUDA_VISIBLE_DEVICES=_gpus(rank_launch, task), CUDA_DEVICE_ORDER="PCI_BUS_ID")
    return env


def _gpus(rank_launch: RankLaunch, task: int) -> str:
    """Return the GPUs that a task may see, as Flux's shell: those of the rank, or its own part of them."""
    gpus, tasks = rank_launch.gpus, rank_launch.tasks
    if rank_launch.options.get("gpu-affinity") != "per-task":
        return ",".join(map(str, gpus)) or "-1"
    each = len(gpus) // len(tasks)
    first = each * tasks.index(task)
    return ",".join(map(str, gpus[first : first + each]))
