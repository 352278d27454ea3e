"""Saving a cluster without losing a job: no job starts, running ones finish, the dump is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from minicluster.embedded import partial_file
from minicluster.instance.errors import InstanceError
from minicluster.local.errors import LocalError, UsageProblem
from minicluster.local.scaling import finish_or_restart
from minicluster.save_restore import dumps
from minicluster.save_restore.errors import DumpUnusable

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.instance.port import Instance
    from minicluster.instance.records import QueueStatus
    from minicluster.local.brokers import Brokers

Notice = Callable[[str], None]

_ANEW = "still runs: it begins anew when the dump is restored, as"
KNOWN = 5.0
"""Seconds in which an instance answers how many jobs it has; one that does not is ended all the same."""
_FORMS = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".cpio")


class SaveFailed(LocalError):  # noqa: N818 - as in errors.py
    """The dump could not be written, or is not whole; the cluster goes on."""


async def save(brokers: Brokers, path: Path, timeout: float, notice: Notice) -> None:
    """Write a dump beside `path`, check it, make it durable, and only then rename it to `path`.

    Jobs that still run after `timeout` seconds are restarted: they wait in the dump. On any failure the
    queues that were started before are started again.
    """
    if not path.parent.is_dir():
        raise UsageProblem(f"--dump {path}: there is no directory {path.parent}")
    if path.exists():
        notice(f"{path} is there already: it will be replaced")
    notice(f"saving: no job starts any more, running ones have {timeout:g} s")
    queues = await brokers.call(lambda instance: instance.queues.all())
    await brokers.call(lambda instance: instance.queues.stop(reason="minicluster down --dump"))
    try:
        ranks = await brokers.call(lambda instance: set(instance.nodes.resources().all.ranks))
        await finish_or_restart(brokers, ranks, timeout, notice, _ANEW)
        pending = await brokers.call(lambda instance: instance.queues.wait_idle(timeout))
        await _dumped(brokers, path)
    except BaseException:
        await brokers.call(lambda instance: _start(instance, queues))
        raise
    notice(f"saved {pending} waiting job{'' if pending == 1 else 's'} to {path}")


def _start(instance: Instance, queues: Iterable[QueueStatus]) -> None:
    for each in queues:
        if each.started:
            instance.queues.start(each.name)


async def unsaved(brokers: Brokers) -> str:
    """Return how many jobs end with a cluster that is not saved, in words; empty: none, or nobody knows."""
    try:
        stats = await asyncio.wait_for(brokers.call(lambda instance: instance.queues.stats()), KNOWN)
    except (InstanceError, TimeoutError):
        return ""
    counts = [
        f"{count} {word}" for count, word in ((stats.running, "running"), (stats.pending, "waiting")) if count
    ]
    one = stats.running + stats.pending == 1
    return f"{' and '.join(counts)} {'job was' if one else 'jobs were'} canceled" if counts else ""


async def _dumped(brokers: Brokers, path: Path) -> None:
    try:
        partial = partial_file.create(path, _form(path))
        try:
            await brokers.call(lambda instance: instance.life.dump(str(partial)))
            dumps.keep(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except (DumpUnusable, OSError) as error:
        raise SaveFailed(f"--dump {path}: {error}; nothing was ended") from error


def _form(path: Path) -> str:
    """Return the suffix by which Flux chooses the file format; it refuses unknown ones."""
    return next((each for each in _FORMS if path.name.endswith(each)), ".tar")
