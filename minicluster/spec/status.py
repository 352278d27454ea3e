"""What is known about a running MiniCluster: its status."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from minicluster.spec.record import Record
from minicluster.spec.scalars import Brokers, Integer, Natural, Shape, Text

MAX_BYTES = 2**53  # what every reader of JSON can count up to
Version = Annotated[int, Strict(), Field(ge=0)]
Time = Annotated[
    str,
    Strict(),
    Field(max_length=40),
    Shape(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})",
        "a time as in RFC 3339, such as 2024-05-01T12:00:00Z",
    ),
]


class Condition(Record):
    """One thing that is true, false or unknown about the MiniCluster, and why."""

    type: Text = Field(description="What it is about, for example `BrokersReady`.", min_length=1)
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it is so.")
    reason: Annotated[str, Strict(), Field(max_length=1_024)] = Field(
        "", description="Why, in one word for programs."
    )
    message: Annotated[str, Strict(), Field(max_length=32_768)] = Field(
        "", description="Why, in words for people."
    )
    last_transition_time: Time | None = Field(None, description="When `status` last changed.")
    observed_generation: Version | None = Field(None, description="Generation of the document it is about.")


class LastDump(Record):
    """The latest saved state of the instance."""

    path: Text = Field(description="Where it was saved.")
    time: Time | None = Field(None, description="When it was saved.")
    bytes: Annotated[int, Strict(), Field(ge=0, le=MAX_BYTES)] = Field(0, description="Size of the file.")
    jobs: Natural = Field(0, description="Jobs in it that had not ended.")
    restarted: Natural = Field(
        0, description="Jobs that could not finish, and start again from it under a new id."
    )
    lost: Natural = Field(0, description="Jobs that could neither finish nor be kept.")


class Status(Record):
    """Written by the operator (or the local supervisor), never by people."""

    size: Brokers = Field(0, description="Number of brokers asked for and made.")
    selector: Text = Field("", description="Label selector of the broker pods, for the scale subresource.")
    maximum_size: Brokers = Field(
        0, description="Hosts registered with Flux when it started: growth ends here."
    )
    jobid: Text = Field("", description="Id of the main job.")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=64)] = Field(
        (), description="What is true about the MiniCluster, with reasons."
    )
    observed_generation: Version = Field(0, description="Generation of the document that this is about.")
    ready_brokers: Brokers = Field(0, description="Brokers that have joined the instance.")
    phase: Text = Field("", description="One word for people: how is it?")
    exit_code: Integer | None = Field(None, description="Exit code of the main command, once it has ended.")
    start_time: Time | None = Field(None, description="When the objects were made.")
    completion_time: Time | None = Field(None, description="When the main command ended.")
    last_dump: LastDump | None = Field(None, description="The latest saved state.")
    queue_policy: Text = Field("", description="The policy that really decides, with its origin.")
