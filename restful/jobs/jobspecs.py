"""From a submission to the jobspec that an instance gets. Pure.

Nothing of the service reaches a job: its environment is the cluster's with the request's over it, and its
working directory is the request's, or else the cluster's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import jobspec as formats
from broker_config.formats.burst_names import BURSTABLE
from broker_config.formats.errors import JobspecError
from broker_config.formats.jobspec import set_at
from minicluster.instance.errors import SubmitRefused
from minicluster.instance.jobspec import jobspec as built
from minicluster.instance.records import JobRequest
from restful.errors import FieldError, HttpProblem
from restful.jobs import rules
from restful.jobs.quota import Reservation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.jobs.schema import Submission

JSON = dict[str, Any]

MAX_NODES = 2**31 - 1
"""Of a reservation, in a column of 32 bits: PostgreSQL refuses what SQLite stores."""
MAX_DEPTH = 40
"""Objects and lists within each other in a jobspec; Flux's own have fewer than ten."""
_INPUT = "stdin"
_WITH_INPUT = 'exec "$@" <"$FLUX_JOB_TMPDIR/stdin"'
"""Both engines put a job's files there on each node. Real Flux reads no input from a path with a template."""
_SYSTEM = ("attributes", "system")
_FIELDS = {
    "/tasks/0/command": "/command",
    "/attributes/system/environment": "/environment",
    "/attributes/system/cwd": "/cwd",
    "/attributes/system/dependencies": "/dependencies",
    "/attributes/system/burstable": "/burstable",
    "/attributes/user/burst/results": "/results",
    "/attributes/system/shell/options/output/stdout/path": "/output/stdout",
    "/attributes/system/shell/options/output/stderr/path": "/output/stderr",
    "/attributes/system/shell/options": "/shell_options",
}
"""Where the fields of a submission are in the jobspec that is made of them."""


class Base(NamedTuple):
    """What a cluster gives every job."""

    environment: Mapping[str, str]
    cwd: str = "/"


def request_of(submission: Submission, base: Base) -> JobRequest:
    """Return the port's request for a submission that has no jobspec."""
    given = submission
    words = tuple(given.command or ())
    command = ("script", *words) if given.script is not None else words
    system: JSON = {"bank": given.bank} if given.bank else {}
    if given.burstable:
        system[BURSTABLE] = given.burstable
    if given.input is not None:
        system["files"] = {_INPUT: {"mode": 0o100600, "data": given.input, "encoding": "utf-8"}}
        command = ("/bin/sh", "-c", _WITH_INPUT, words[0], *words)
    attributes: JSON = {} if given.elastic is None else {"elastic": given.elastic.model_dump()}
    if given.results:
        attributes["burst"] = {"results": given.results}
    return JobRequest(
        command,
        tasks=_tasks(given),
        nodes=given.nodes,
        cores_per_task=given.cores_per_task,
        gpus_per_task=given.gpus_per_task,
        exclusive=given.exclusive,
        duration=given.time_limit,
        environment={**base.environment, **given.environment},
        cwd=given.cwd or base.cwd,
        name=given.name or (words[0].rstrip("/").rpartition("/")[2] if given.input is not None else ""),
        urgency=given.urgency,
        dependencies=tuple(given.dependencies),
        attributes=attributes,
        shell_options={**given.shell_options, **_output(given)},
        system=system,
        queue=given.queue or "",
        script=given.script or "",
    )


def _tasks(given: Submission) -> int:
    """Return the number of tasks: one a node, where only nodes are given."""
    return given.nodes if given.nodes and "tasks" not in given.model_fields_set else given.tasks


def _output(given: Submission) -> JSON:
    files = {} if given.output is None else {"stdout": given.output.stdout, "stderr": given.output.stderr}
    found: JSON = {}
    for stream, path in files.items():
        if path is not None:
            found |= {f"output.{stream}.type": "file", f"output.{stream}.path": path}
    return found


def jobspec_of(submission: Submission, base: Base, which: rules.Rules) -> JSON:
    """Return the jobspec of a submission. Raises HttpProblem "invalid" with everything that is wrong."""
    if submission.jobspec is not None:
        return _given(submission, submission.jobspec, base, which)
    _check_texts(submission, which)
    try:
        found = built(request_of(submission, base), inherit=False)
        formats.parse(found)
    except (SubmitRefused, JobspecError) as error:
        raise HttpProblem("invalid", str(error), (FieldError("", str(error)),)) from error
    _refuse([at(submission, each) for each in rules.problems(found, which)])
    return found


def _check_texts(submission: Submission, which: rules.Rules) -> None:
    limit = which.limits.input_bytes
    texts = {"/script": submission.script, "/input": submission.input}
    sizes = {path: len(text.encode()) for path, text in texts.items() if text is not None}
    _refuse(
        [
            FieldError(path, f"has {size} bytes; the limit is {limit}")
            for path, size in sizes.items()
            if size > limit
        ]
    )


def _given(submission: Submission, jobspec: JSON, base: Base, which: rules.Rules) -> JSON:
    """Return a jobspec that a user wrote, over the cluster's environment and working directory."""
    _check_json(jobspec)
    try:
        formats.parse(jobspec)
    except JobspecError as error:
        raise HttpProblem("invalid", f"jobspec: {error}", (FieldError("/jobspec", str(error)),)) from error
    _refuse([at(submission, each) for each in rules.problems(jobspec, which)])
    found: JSON = json.loads(json.dumps(jobspec))
    system = formats.system_of(found)
    set_at(found, (*_SYSTEM, "environment"), {**base.environment, **system.get("environment", {})})
    set_at(found, (*_SYSTEM, "cwd"), system.get("cwd") or base.cwd)
    return found


def _check_json(jobspec: JSON) -> None:
    if _depth(jobspec) > MAX_DEPTH:
        raise HttpProblem(
            "invalid", f"jobspec: more than {MAX_DEPTH} levels", (FieldError("/jobspec", "is too deep"),)
        )
    try:
        json.dumps(jobspec, allow_nan=False)
    except ValueError as error:
        message = "has a number that JSON has not: infinite, or none"
        raise HttpProblem("invalid", f"jobspec: {message}", (FieldError("/jobspec", message),)) from error


def _depth(value: Any) -> int:
    """Return how many objects and lists are within each other, without recursion."""
    level, found = [value], 0
    while level:
        inner: list[Any] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        level, found = inner, found + 1
    return found - 1


def at(submission: Submission, error: FieldError) -> FieldError:
    """Return an error about a jobspec as one about the submission that it is made of."""
    if submission.jobspec is not None:
        return FieldError(f"/jobspec{error.path}", error.message)
    for inside, field in _FIELDS.items():
        if error.path == inside or error.path.startswith(f"{inside}/"):
            return FieldError(field + error.path[len(inside) :], error.message)
    return error


def _refuse(wrong: list[FieldError]) -> None:
    if wrong:
        first = wrong[0]
        raise HttpProblem("invalid", f"{first.path.lstrip('/')}: {first.message}", tuple(wrong))


class JobSummary(NamedTuple):
    """What the service notes of a job before the instance has it."""

    reservation: Reservation
    """What it may use at most; an elastic job counts with its largest size."""
    name: str
    queue: str
    bank: str


def summary_of(jobspec: Mapping[str, Any], cores_per_node: int) -> JobSummary:
    """Return the summary of a jobspec; each text may be empty.

    Without a number of nodes it is reckoned from the cores, as if the job had nodes of its own. Raises
    HttpProblem "invalid" for more than MAX_NODES.
    """
    parsed = formats.read(jobspec)
    asked = parsed.asked if parsed.elastic is None else parsed.asked.with_workers(parsed.elastic.most)
    nodes = asked.nodes or -(-asked.size // max(1, cores_per_node))
    if nodes > MAX_NODES:
        _refuse([FieldError("/nodes", f"the job needs more than {MAX_NODES} nodes")])
    bank = formats.system_of(jobspec).get("bank")
    reservation = Reservation(max(1, nodes), parsed.duration)
    return JobSummary(reservation, parsed.name, parsed.queue or "", bank if isinstance(bank, str) else "")
