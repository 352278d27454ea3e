"""Which CPUs each task of a rank is bound to: Flux's shell option `cpu-affinity`, and a job's workers.

Source: flux-shell-options(7). `per-task` divides cores as hwloc_distrib(3) does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import cpu_lists, idset
from broker_config.formats.errors import CpuListError
from minicluster.embedded.errors import LayoutError
from minicluster.embedded.log import NOTICE, WARNING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from minicluster.embedded.execution.rank_launch import RankLaunch

    ShellLine = tuple[int, str]

OPTION = "cpu-affinity"
BY_WORKERS = "workers"
"""The default of a job with workers: each task has its worker's CPUs. It is no word of Flux's."""
SHARED = "shared"
"""The default on CPUs that are not the broker's own: tasks are bound where the option asks for it."""


class CpuBinding(NamedTuple):
    """What a rank is to do for its tasks before it starts them."""

    cpus: Mapping[int, frozenset[int]]
    """By task; a task that is not there is not bound."""
    messages: Sequence[ShellLine] = ()
    """What the component `cpu-affinity` of the job's shell logs: syslog levels and texts."""
    otherwise: frozenset[int] = frozenset()
    """The CPUs of a task that the kernel does not let have those of its own."""


def binding_of(launch: RankLaunch) -> CpuBinding:
    """Return the binding of a rank's tasks. Raises LayoutError for a map that is none, in Flux's words."""
    given = launch.options.get(OPTION)
    messages: list[ShellLine] = []
    if given is not None and not isinstance(given, str):
        messages.append((WARNING, f"{OPTION}: invalid option: on"))
        given = "on"
    shows, dry_run, mode = _prefixed(given or "")
    mode = mode or launch.affinity
    if mode == SHARED and shows:
        mode = BY_WORKERS if launch.workers else "on"
    if mode in {"off", SHARED}:
        return CpuBinding({}, messages)
    if not launch.cpus:
        if given:
            lacking = f"unable to get cpuset for cores {idset.encode(launch.cores)}. Disabling affinity"
            messages.append((WARNING, lacking))
        return CpuBinding({}, messages)
    if launch.credentials is not None and launch.workers and not mode.startswith("map:"):
        mode = BY_WORKERS  # cores of a malleable job come and go with its tasks
    sets = _sets(launch, mode)
    if shows:
        messages += _shown(launch, {} if mode == "on" else sets)
    return CpuBinding({} if dry_run else sets, messages, frozenset(launch.cpus))


def _shown(launch: RankLaunch, sets: Mapping[int, frozenset[int]]) -> Iterator[ShellLine]:
    yield NOTICE, f"cpus: {idset.encode(sorted(launch.cpus))}"
    for task, cpus in sets.items():
        yield NOTICE, f"task {task}: cpus: {idset.encode(sorted(cpus))}"


def _prefixed(option: str) -> tuple[bool, bool, str]:
    """Return whether an option begins with `verbose` or `dry-run`, whether with `dry-run`, and its rest."""
    shows = dry_run = False
    while option.startswith(("dry-run", "verbose")):
        dry_run = dry_run or option.startswith("dry-run")
        shows, option = True, option[7:].removeprefix(",")
    return shows, dry_run, option


def _sets(launch: RankLaunch, mode: str) -> dict[int, frozenset[int]]:
    tasks = launch.tasks
    if mode == "per-task":
        return dict(zip(tasks, divided(launch.cpus, len(tasks)), strict=True))
    if mode.startswith("map:"):
        try:
            mapped = cpu_lists.decode_all(mode[4:], len(tasks), os.cpu_count() or 1)
        except CpuListError as error:
            raise LayoutError(str(error)) from None
        return dict(zip(tasks, mapped, strict=True))
    if mode == BY_WORKERS:
        by_core = dict(zip(launch.cores, launch.cpus, strict=True))
        return {
            task: frozenset(by_core[core] for core in worker.cores)
            for worker in launch.workers
            for task in worker.tasks
        }
    return dict.fromkeys(tasks, frozenset(launch.cpus))


def divided(cpus: Sequence[int], tasks: int) -> list[frozenset[int]]:
    """Return each task's part of the CPUs; with fewer CPUs than tasks, these have some in common."""
    found: list[set[int]] = []
    for index, cpu in enumerate(cpus, 1):
        upto = -(-index * tasks // len(cpus))
        if upto == len(found):
            found[-1].add(cpu)
        found += [{cpu} for _ in range(upto - len(found))]
    return [frozenset(each) for each in found]
