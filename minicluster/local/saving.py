"""Saving a cluster so that no job is lost: nothing new starts, what runs finishes, the dump is checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from minicluster.flux_modules.saving import dumps
from minicluster.flux_modules.saving.errors import DumpUnusable
from minicluster.local.errors import LocalError, UsageProblem
from minicluster.local.scaling import Brokers, finish_or_restart

if TYPE_CHECKING:
    from pathlib import Path

Notice = Callable[[str], None]


class SaveFailed(LocalError):  # noqa: N818 - as in errors.py
    """The dump could not be written, or is not whole; the cluster goes on."""


async def save(brokers: Brokers, path: Path, timeout: float, notice: Notice) -> None:
    """Write a dump beside `path`, check it, make it durable, and only then put it in its place.

    Jobs that still run after `timeout` seconds are restarted: they wait in the dump. On any failure the
    queues are started again.
    """
    if not path.parent.is_dir():
        raise UsageProblem(f"--dump {path}: there is no directory {path.parent}")
    notice(f"saving: no job starts any more, running ones have {timeout:g} s")
    await brokers.call(lambda instance: instance.queue_stop(reason="minicluster down --dump"))
    try:
        ranks = await brokers.call(lambda instance: set(instance.resources().all.ranks))
        await finish_or_restart(brokers, ranks, timeout, notice)
        pending = await brokers.call(lambda instance: instance.queue_idle(timeout))
        await _dumped(brokers, path)
    except BaseException:
        await brokers.call(lambda instance: instance.queue_start())
        raise
    notice(f"saved {pending} waiting job{'' if pending == 1 else 's'} to {path}")


async def _dumped(brokers: Brokers, path: Path) -> None:
    draft = _draft(path)
    draft.unlink(missing_ok=True)
    try:
        await brokers.call(lambda instance: instance.dump(str(draft)))
        dumps.keep(draft, path)
    except (DumpUnusable, OSError) as error:
        raise SaveFailed(f"--dump {path}: {error}; nothing was ended") from error
    finally:
        draft.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    """Return a hidden name beside `path`; Flux chooses the form by the suffix, and refuses unknown ones."""
    known = path.name.endswith(
        (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".cpio")
    )
    return path.with_name(f".{os.getpid()}.{path.name}" + ("" if known else ".tar"))
