"""The way from a cluster's name to its instance, and what one does with a job there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from minicluster.local import state_file
from minicluster.local.errors import UsageProblem

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

INNER = ("FLUX_", "MINICLUSTER_", "PMI_")


def of(name: str) -> Instance:
    """Connect to a cluster's instance. Raises NoSuchCluster, InstanceError."""
    from minicluster.instance.connection import connect

    cluster, state = state_file.need(name)
    return connect(cluster.uri, "flux" if state.engine == "flux" else "embedded")


def environment(name: str) -> dict[str, str]:
    """Return this process's environment, in which `flux` is the cluster's. Raises NoSuchCluster."""
    from minicluster.local.site import own_programs

    cluster, state = state_file.need(name)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(INNER)}
    first = [str(cluster.programs)] if state.engine == "embedded" else []
    path = os.pathsep.join([*first, kept.get("PATH", os.defpath), str(own_programs())])
    return {**kept, "PATH": path, "FLUX_URI": cluster.uri}


def number(text: str) -> int:
    """Return the job id that a person wrote, in any form of RFC 19. Raises UsageProblem."""
    from minicluster.embedded.jobid import parse

    try:
        return parse(text)
    except ValueError as error:
        raise UsageProblem(f"{text}: is no job id; `minicluster jobs` lists them") from error


def job(instance: Instance, name: str, text: str) -> Job:
    """Return a cluster's job by the id that a person wrote. Raises UsageProblem."""
    from minicluster.instance.errors import JobNotFound

    try:
        return instance.job(number(text))
    except JobNotFound as error:
        raise UsageProblem(
            f"{text}: cluster {name} has no such job; `minicluster jobs {name} --all` lists what it has"
        ) from error


def written(jobid: int) -> str:
    """Return a job id as people write it (F58, RFC 19); in ASCII where the terminal knows no more."""
    from minicluster.embedded.jobid import f58, f58plain

    wide = "utf" in (sys.stdout.encoding or "").lower()
    return f58(jobid) if wide else f58plain(jobid)


def copy_output(instance: Instance, jobid: int, *, labelled: bool) -> None:
    """Copy a job's output to ours until it ends; with its task's rank before each line if `labelled`."""
    streams = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
    with instance.output(jobid, follow=True) as chunks:
        for chunk in chunks:
            target = streams.get(chunk.stream, sys.stderr.buffer)
            target.write(_labelled(chunk.data, chunk.task) if labelled else chunk.data)
            target.flush()


def exit_code(job: Job) -> int:
    """Return the exit code that a shell would show for the job; what ended it otherwise is said."""
    if job.exception is not None and job.exception.severity == 0:
        print(f"minicluster: job.exception type={job.exception.type}: {job.exception.note}", file=sys.stderr)
    code = job.returncode
    if code is None:
        return 1
    return code if code >= 0 else 128 - code if code > -128 else 1


def _labelled(data: bytes, task: int) -> bytes:
    return b"".join(b"%d: %s" % (task, line) for line in data.splitlines(keepends=True))
