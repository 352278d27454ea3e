"""What a client sends to submit a job: one schema with two forms, the fields of a job or a whole jobspec.

The page's form, the commands' options and the OpenAPI document are made of it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    model_validator,
)

from broker_config.formats import durations
from restful.request_model import RequestModel

MAX_COUNT = 1_000_000
"""Tasks, nodes, cores: more than any machine has, and small enough for every counter."""
MAX_DURATION = 366 * 86_400.0
"""Seconds: a year."""

SIGNALS = ("HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP")
"""What may be sent to a job, by the names of signal(7) without SIG."""


def _seconds(value: Any) -> Any:
    """Turn a duration's text (RFC 23) into seconds."""
    return durations.given(value) if isinstance(value, str) else value


ProcessText = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
"""A text that a process can get: no NUL."""
Word = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A name on one line."""
Variable = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00=]+$")]
FilterText = Annotated[str, StringConstraints(max_length=255, pattern=r"^[^\x00]*$")]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT, strict=True)]
WholeNumber = Annotated[int, Field(ge=0, le=MAX_COUNT, strict=True)]
Urgency = Annotated[int, Field(ge=0, le=31, strict=True)]
TimeLimit = Annotated[
    float,
    BeforeValidator(_seconds, json_schema_input_type=float | str),
    Field(ge=0, le=MAX_DURATION, allow_inf_nan=False),
]


_PROVIDER = re.compile(r"[A-Za-z0-9.-]{1,63}")


def _burstable(value: Any) -> bool | str:
    if isinstance(value, bool) or (isinstance(value, str) and _PROVIDER.fullmatch(value)):
        return value
    raise ValueError("is true, false or the name of a provider")


Burstable = Annotated[bool | str, PlainValidator(_burstable, json_schema_input_type=bool | str)]
"""Whether a job may burst, or at which provider alone."""


def _result(value: str) -> str:
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError("is a path below the working directory, such as out/data.h5")
    return value


ResultPath = Annotated[Word, AfterValidator(_result)]
"""A path of `attributes.user.burst.results`."""


class ElasticRange(RequestModel):
    """Makes a job elastic: it starts with as many workers as there are, within a range."""

    min: Count = Field(description="The least number of workers.")
    max: Count = Field(description="The largest number of workers.")
    malleable: bool = Field(
        default=False,
        description="Whether the number may change while it runs: the program has to take part.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> ElasticRange:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is greater than max {self.max}")
        return self


class Output(RequestModel):
    """Files on the cluster into which output goes, instead of being kept with the job."""

    stdout: Word | None = Field(default=None, description="A path below the working directory.")
    stderr: Word | None = Field(default=None, description="A path below the working directory.")


class Submission(RequestModel):
    """A job to be submitted: `command`, `script` or `jobspec`, and what goes with it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"command": ["hostname"], "tasks": 2, "time_limit": "10m"},
                {"script": "#!/bin/sh\nflux run -n 4 hostname\n", "nodes": 2, "name": "first"},
            ]
        }
    )

    command: list[ProcessText] | None = Field(
        default=None,
        min_length=1,
        description="The program and its arguments; with `script`, its arguments alone.",
    )
    script: ProcessText | None = Field(
        default=None,
        description="A batch script's text; it runs in an instance of its own on the job's nodes.",
    )
    jobspec: dict[str, Any] | None = Field(
        default=None, description="A whole jobspec, version 1 (RFC 25), in place of the fields below."
    )
    input: ProcessText | None = Field(
        default=None, description="Standard input of every task: a text that is stored with the job."
    )
    tasks: Count = Field(default=1, description="How many tasks.")
    nodes: WholeNumber = Field(default=0, description="On how many nodes; 0: on as many as the tasks need.")
    cores_per_task: Count = Field(default=1, description="Cores of each task.")
    gpus_per_task: WholeNumber = Field(default=0, description="GPUs of each task.")
    exclusive: bool = Field(default=False, description="Whole nodes for this job alone; needs `nodes`.")
    time_limit: TimeLimit = Field(
        default=0.0, description="In seconds, or as 90s, 1.5h, 2d; 0: no limit but the queue's."
    )
    queue: Word | None = Field(default=None, description="A queue of the cluster; none: its default one.")
    bank: Word | None = Field(default=None, description="The account to which the job's use is charged.")
    urgency: Urgency = Field(
        default=16, description="0 (waits until it is raised) to 31; above 16 is for operators."
    )
    name: Word | None = Field(default=None, description="The job's name; none: the program's.")
    dependencies: list[Word] = Field(
        default=[], max_length=100, description="Like afterok:ƒ2FdCrT; jobs of your own only."
    )
    environment: dict[Variable, ProcessText] = Field(
        default={}, description="Variables, over those that the cluster gives every job."
    )
    cwd: Word | None = Field(
        default=None, pattern="^/", description="The working directory, from /; none: the cluster's."
    )
    burstable: Burstable = Field(
        default=False,
        description="Whether it may run on nodes of another cluster that are made for it: true, or the name"
        " of the only provider that may make them.",
    )
    results: list[ResultPath] = Field(
        default=[],
        max_length=100,
        description="Files below the working directory that are brought back from where it runs.",
    )
    elastic: ElasticRange | None = Field(default=None, description="A range of sizes.")
    output: Output | None = Field(default=None, description="Files for the output.")
    shell_options: dict[Word, Any] = Field(
        default={}, description='Options of the job\'s shell, like {"mpi": "none"}; few are allowed.'
    )

    @model_validator(mode="after")
    def _one_form(self) -> Submission:
        given = self.model_fields_set
        if self.jobspec is not None:
            others = sorted(given - {"jobspec", "urgency"})
            if others:
                raise ValueError(f"jobspec: has all of the job; leave out {', '.join(others)}")
        elif self.script is not None:
            if self.input is not None:
                raise ValueError("input: a script has none; let it read a file")
            if not self.script.startswith("#!"):
                raise ValueError("script: does not begin with '#!', as in #!/bin/sh")
        elif self.command is None:
            raise ValueError("give one of command, script and jobspec")
        return self


class BulkSubmit(RequestModel):
    """Jobs to be submitted side by side."""

    jobs: list[Submission] = Field(min_length=1, description="Each as if it were submitted alone.")


class Kill(RequestModel):
    """A signal for every task of a job."""

    signal: Literal["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "STOP"] = Field(
        default="TERM", description="As in signal(7), without SIG."
    )


class NewUrgency(RequestModel):
    """A new urgency of a job that has not begun."""

    urgency: Urgency = Field(description="0 (waits until it is raised) to 31; above 16 is for operators.")


class GivenReason(RequestModel):
    """Why something is done, for those who read it later."""

    reason: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class Which(RequestModel):
    """Which jobs a filter means, as in a listing."""

    state: list[str] = Field(default=[], description="Like pending, run or active.")
    queue: FilterText = ""
    name: FilterText = ""
    owner: FilterText = ""


class BulkCancel(RequestModel):
    """Jobs to be cancelled, by their ids or by a filter."""

    ids: list[str] | None = Field(default=None, min_length=1, description="Job ids in any form, as texts.")
    filter: Which | None = Field(default=None, description="Jobs that have not ended, and match all of it.")
    reason: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> BulkCancel:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give one of ids and filter")
        return self
