"""The commands about jobs `--on kubernetes`: what is asked of `minicluster.kubernetes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from minicluster.cli.job_words import Whose, copy_output, exit_code, is_main
from minicluster.cli.kubernetes import say, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.instance.port import Instance
    from minicluster.kubernetes.session import Target

T = TypeVar("T")


def ask(where: Target, name: str, work: Callable[[Instance], T]) -> T:
    """Do the work with a MiniCluster's instance."""
    from minicluster.kubernetes import instances, session

    return session.carry_out(where, lambda asked: instances.ask(asked, name, work), notice=say)


def whose(where: Target, name: str) -> Whose:
    """Return whose jobs are meant."""
    from minicluster.kubernetes.errors import RequestError

    namespace = where.namespace or where.access.namespace()
    return Whose(name, f" --on kubernetes -n {namespace}", RequestError)


def attach_to_command(where: Target, name: str) -> int:
    """Show what the document's own command writes, and return its exit code."""
    from minicluster.kubernetes import attaching, session

    return session.carry_out(where, lambda asked: attaching.main_command(asked, name, write), notice=say)


def attach_to_job(where: Target, name: str, job: str) -> int:
    """Follow a job, and return its exit code.

    An instance ends as soon as its main job has: then the MiniCluster's status has the code.
    """
    from minicluster.kubernetes import attaching, session

    one = whose(where, name)
    one.jobid(job)

    def follow(instance: Instance, following: attaching.Following) -> int:
        found = one.job(instance, job)
        following.is_main = is_main(found)
        copy_output(instance, found)
        following.is_shown = True
        return exit_code(instance.wait(found.id))

    return session.carry_out(where, lambda asked: attaching.job(asked, name, write, follow), notice=say)


def shell(where: Target, name: str, command: Sequence[str]) -> int:
    """Run a command, or a shell, in the lead's container."""
    from minicluster.kubernetes import session, terminal

    return session.carry_out(where, lambda asked: terminal.shell(asked, name, command), notice=say)
