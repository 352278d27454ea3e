"""The values of a parameter, by the word with which --help names them: NAME, JOB, FILE, POLICY.

So a parameter of a plug-in is completed as ours are; the values of a back end's own options come from it.
A source may fail with anything: then there is nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.cli.backend_choice import likely, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.records import Job

_ENDED_JOBS = 50
"""So many of the latest ones are offered where a job may have ended."""
_URGENCIES = {"hold": "urgency 0", "default": "urgency 16", "expedite": "urgency 31"}


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a parameter may have."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Each with a description, which may be empty."""
    files: bool = False
    """Whether it may be the name of a file, too."""
    is_open: bool = False
    """Whether a text is only the beginning of a value."""


def of(parameter: Any, context: Any, incomplete: str) -> Values | None:
    """Return the values of a parameter; None: its metavar names none of those that are known here."""
    word = _word(parameter)
    if word == "NAME" and parameter.param_type_name == "option":
        return None  # the name of something else than a cluster: of a MiniCluster in a file
    return _SOURCES[word](context, incomplete) if word in _SOURCES else _of_backends(word, context)


def _word(parameter: Any) -> str:
    """Return the first word of a metavar: JOB of `[JOB...]`, POLICY of `POLICY[:SETTING=VALUE,...]`."""
    metavar = parameter.metavar or ""
    return re.split(r"[\[\].:]", metavar.lstrip("["))[0]


def _clusters(context: Any, _incomplete: str) -> Values:
    return Values({each.name: each.phase for each in likely(context).clusters().clusters})


def _jobs(context: Any, incomplete: str) -> Values:
    from broker_config.formats.jobid import f58plain
    from minicluster.cli.job_words import written
    from minicluster.instance.records import JobFilter, JobState

    command = context.command.name
    may_have_ended = command in {"attach", "jobs"}
    states = JobState.PENDING if command == "urgency" else JobState.ACTIVE
    which = JobFilter() if may_have_ended else JobFilter(states=states)
    found: list[Job] = list(
        likely(context).ask(
            context.params["name"],
            lambda instance: instance.jobs.find(which, limit=_ENDED_JOBS if may_have_ended else 0),
        )
    )
    form = f58plain if incomplete.startswith("f") else written
    words = _URGENCIES if context.params.get("value") else {}  # a first job was taken for the last argument
    return Values({form(job.id): _described(job) for job in found} | words)


def _queues(context: Any, _incomplete: str) -> Values:
    found = likely(context).ask(context.params["name"], lambda instance: instance.queues.all())
    return Values({each.name: "" if each.started else "stopped" for each in found if each.name})


def _states(context: Any, incomplete: str) -> Values:
    from minicluster.cli import job_filters

    before, comma, _ = incomplete.rpartition(",")
    words = job_filters.ACTIVE if context.command.name == "cancel" else job_filters.EVERY
    return Values({f"{before}{comma}{word}": "" for word in words})


def _described(job: Job) -> str:
    return f"{job.result.name if job.result else job.state.name} {job.name}"


def _placements(_context: Any, _incomplete: str) -> Values:
    from queue_policies.placement import plugins
    from queue_policies.simulator.selection import described

    return Values({each.name: each.description for each in described(plugins.registry().classes)})


def _affinities(_context: Any, _incomplete: str) -> Values:
    from queue_policies.placement.records import Affinity

    return Values({each.value: "" for each in Affinity})


def _profiles(_context: Any, _incomplete: str) -> Values:
    from queue_policies.placement.records import ProfileKind

    return Values({each.value: "" for each in ProfileKind})


def _policies(_context: Any, incomplete: str) -> Values:
    from queue_policies import plugins
    from queue_policies.simulator.selection import choices

    found = {each.name: each for each in choices(plugins.registry().classes)}
    name, colon, given = incomplete.partition(":")
    if not colon:
        return Values({each.name: each.description for each in found.values()})
    before = given.rpartition(",")[0]
    start = f"{name}:{before}," if before else f"{name}:"
    settings = found[name].settings if name in found else ()
    return Values({f"{start}{each.name}=": each.description for each in settings}, is_open=True)


def _workloads(_context: Any, _incomplete: str) -> Values:
    from queue_policies.simulator.workloads import catalogue

    return Values({name: each.__doc__ or "" for name, each in catalogue.GENERATORS.items()}, files=True)


def _clusters_or_files(context: Any, incomplete: str) -> Values:
    return Values(_clusters(context, incomplete).texts, files=True)


def _of_backends(word: str, context: Any) -> Values | None:
    """Return the values that a back end knows for its options of this metavar."""
    options = (option for kind in registry().kinds.values() for option in kind.options)
    found = next((each.values for each in options if each.metavar == word and each.values), None)
    return Values(found(context.params)) if found else None


def _fields(_context: Any, incomplete: str) -> Values:
    from minicluster.document import explanation

    above, dot, _ = incomplete.rpartition(".")
    fields = explanation.explain(above).fields()
    return Values({f"{above}{dot}{each.name}": each.description for each in fields}, is_open=True)


def _programs(context: Any, incomplete: str) -> Values:
    """Return the programs on PATH for the first word, and files; for `help`, its commands."""
    if context.command.name == "help":
        return Values(dict.fromkeys(context.parent.command.list_commands(context.parent), ""))
    if not incomplete or "/" in incomplete or context.params.get("command"):
        return Values(files=True)
    return Values({name: "" for name in _on_path() if name.startswith(incomplete)}, files=True)


def _on_path() -> Iterator[str]:
    for directory in map(Path, os.get_exec_path()):
        if directory.is_dir():
            yield from (each.name for each in directory.iterdir() if os.access(each, os.X_OK))


def _any_file(_context: Any, _incomplete: str) -> Values:
    return Values(files=True)


ValueSource = Callable[[Any, str], Values]
_SOURCES: Mapping[str, ValueSource] = {
    "NAME": _clusters,
    "JOB": _jobs,
    "QUEUE": _queues,
    "STATES": _states,
    "FILE": _any_file,
    "DUMP": _any_file,
    "POLICY": _policies,
    "PLACEMENT": _placements,
    "AFFINITY": _affinities,
    "PROFILE": _profiles,
    "WORKLOAD": _workloads,
    "NAME|DUMP": _clusters_or_files,
    "FIELD": _fields,
    "COMMAND": _programs,
}
