"""Jobs on the command line, for every back end: ids, output, exit codes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

MAIN = ("minicluster", "main")
"""The group and key of a job's user attributes that mark the document's own command."""


@dataclass(frozen=True, slots=True)
class Whose:
    """The cluster whose jobs a command works with."""

    name: str
    options: Callable[[], str]
    """Returns the options with which a command finds it."""

    def jobid(self, text: str) -> int:
        """Return the id that the user gave, in any form of RFC 19. Raises WrongRequest."""
        from broker_config.formats.jobid import parse
        from minicluster.backends.errors import WrongRequest

        try:
            return parse(text)
        except ValueError as error:
            raise WrongRequest(
                f"{text}: is no job id; `minicluster jobs {self.name}{self.options()}` lists them"
            ) from error

    def job(self, instance: Instance, text: str) -> Job:
        """Return the job whose id the user gave. Raises WrongRequest."""
        from minicluster.backends.errors import WrongRequest
        from minicluster.instance.errors import JobNotFound

        jobid = self.jobid(text)
        try:
            return instance.jobs.get(jobid)
        except JobNotFound as error:
            raise WrongRequest(
                f"{text}: cluster {self.name} has no such job;"
                f" `minicluster jobs {self.name} --all{self.options()}` lists what it has"
            ) from error


def written(jobid: int) -> str:
    """Return a job id as users write it (F58, RFC 19); in ASCII where the terminal has no UTF-8."""
    from broker_config.formats.jobid import f58, f58plain

    wide = "utf" in (sys.stdout.encoding or "").lower()
    return f58(jobid) if wide else f58plain(jobid)


def copy_output(instance: Instance, job: Job) -> None:
    """Copy a job's output to ours until it ends; with several tasks each line begins with its task's rank."""
    streams = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
    with instance.jobs.output(job.id, follow=True) as chunks:
        for chunk in chunks:
            target = streams.get(chunk.stream, sys.stderr.buffer)
            target.write(_labelled(chunk.data, chunk.task) if job.ntasks > 1 else chunk.data)
            target.flush()


def exit_code(job: Job) -> int:
    """Return the exit code that a shell would show for the job. Prints the exception that ended it."""
    if job.exception is not None and job.exception.severity == 0:
        print(f"minicluster: job.exception type={job.exception.type}: {job.exception.note}", file=sys.stderr)
    code = job.returncode
    if code is None:
        return 1
    return code if code >= 0 else 128 - code if code > -128 else 1


def is_main(job: Job) -> bool:
    """Whether the job is the document's own command."""
    group, key = MAIN
    ours = (job.attributes or {}).get(group)
    return isinstance(ours, dict) and ours.get(key) is True


def _labelled(data: bytes, task: int) -> bytes:
    return b"".join(b"%d: %s" % (task, line) for line in data.splitlines(keepends=True))
