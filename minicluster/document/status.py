"""What is known about a running MiniCluster: its status."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from minicluster.document.bursting import BurstStatus
from minicluster.document.granularity import GranularityStatus
from minicluster.document.record import Record
from minicluster.document.scalars import BrokerCount, Integer, Natural, ShortText, TextPattern

MAX_BYTES = 2**53  # what every reader of JSON can count up to
MAX_NAMED_JOBS = 16
"""How many jobs of one cause are named as restarted, and as many as lost."""
MAX_RESTARTED_JOBS = 3 * 2 * MAX_NAMED_JOBS
"""How many jobs `restartedJobs` names at most: restarted and lost ones, for each of three causes."""
MAX_MESSAGE = 32_768
"""Characters that the message of a condition has at most."""
MAX_BURSTS = 64
"""As many as there may be remote clusters."""
RanksText = Annotated[str, Strict(), Field(max_length=32_768)]
Version = Annotated[int, Strict(), Field(ge=0)]
Time = Annotated[
    str,
    Strict(),
    Field(max_length=40),
    TextPattern(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})",
        "a time as in RFC 3339, such as 2024-05-01T12:00:00Z",
    ),
]


class Condition(Record):
    """One thing that is true, false or unknown about the MiniCluster, and why."""

    type: ShortText = Field(description="What it is about, for example `BrokersReady`.", min_length=1)
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it is so.")
    reason: Annotated[str, Strict(), Field(max_length=1_024)] = Field(
        "", description="Why, in one word for programs."
    )
    message: Annotated[str, Strict(), Field(max_length=MAX_MESSAGE)] = Field(
        "", description="Why, in words for people."
    )
    last_transition_time: Time | None = Field(None, description="When `status` last changed.")
    observed_generation: Version | None = Field(None, description="Generation of the document it is about.")


class LastDump(Record):
    """The latest saved state of the instance."""

    path: ShortText = Field(description="Where it was saved.")
    time: Time | None = Field(None, description="When it was saved.")
    bytes: Annotated[int, Strict(), Field(ge=0, le=MAX_BYTES)] = Field(0, description="Size of the file.")
    jobs: Natural = Field(0, description="Jobs in it that had not ended.")
    restarted: Natural = Field(
        0, description="Jobs that could not finish, and start again from it under a new id."
    )
    lost: Natural = Field(0, description="Jobs that could neither finish nor be kept.")


class SaveStatus(Record):
    """How far a save is that goes before a suspension or a deletion; it goes on from here after a restart."""

    phase: Literal[
        "Ordered", "Waiting", "Writing", "Leaving", "Unreachable", "Failed", "Saved", "Lost", "Abandoned"
    ] = Field(
        description="What the save is at. `Ordered`: the lead is asked for it. `Waiting`: it waits for jobs."
        " `Writing`: it writes the dump. `Leaving`: its pod ends, and it saves before. `Unreachable`: the"
        " lead does not answer. `Failed`: it is tried again at `retryAt`. `Saved`: it succeeded. `Lost`: the"
        " lead ended without a dump. `Abandoned`: the time for it is over."
    )
    started_at: Time = Field(description="When this attempt began, or in a deletion the first one.")
    attempt: Natural = Field(0, description="How many attempts there were, with this one; 0: not known.")
    waiting_for: Natural = Field(0, description="How many jobs are waited for.")
    error: ShortText = Field("", description="Why it does not go on, where it does not.")
    retry_at: Time | None = Field(None, description="When it is tried again, after it failed.")


class ResizeStatus(Record):
    """How far a resize is; it goes on from here after a restart."""

    phase: Literal["Growing", "Draining", "Restarting", "JobsRestarted", "TimedOut", "Shrinking"] = Field(
        description="What the resize is at. `Growing`: pods are added, or ranks get jobs again. `Draining`:"
        " jobs on `leaving` are waited for. `Restarting`: the lead is asked to start them again elsewhere."
        " `JobsRestarted`: it did. `TimedOut`: the pods go with their jobs. `Shrinking`: pods go."
    )
    started_at: Time = Field(
        description="Since when the resize lasts; while jobs are waited for, since when."
    )
    from_: BrokerCount = Field(0, alias="from", description="Number of brokers when it began.")
    to: BrokerCount = Field(0, description="Number of brokers when it has ended.")
    generation: Version = Field(0, description="Generation of the document for which jobs are waited for.")
    leaving: RanksText = Field("", description="Ranks that are waited for (RFC 22 idset).")
    busy: RanksText | None = Field(None, description="Those of them that have jobs; absent: not known.")
    returning: RanksText = Field("", description="Ranks that were drained and are to get jobs again.")
    until: Time | None = Field(None, description="When the pods go at the latest.")
    error: ShortText = Field("", description="Why the lead does not answer, where it does not.")
    restarted: Natural = Field(0, description="Jobs that were started again elsewhere under a new id.")
    lost: Natural = Field(0, description="Jobs that could not be started again.")


class NodeLoss(Record):
    """What became of jobs on followers whose nodes were lost, until all brokers are there again."""

    restarted: Natural = Field(0, description="Jobs that were started again elsewhere under a new id.")
    lost: Natural = Field(0, description="Jobs that could not be started again.")


class LeadStatus(Record):
    """What the lead broker runs, as it reported when it was last reached."""

    minicluster: ShortText = Field(
        "", description="Version of this project that serves the lead API; absent: 0.1.0, which reports none."
    )
    engine: ShortText = Field("", description="`flux`, or `embedded`: the instance that this project brings.")
    flux: ShortText = Field(
        "", description="Version of Flux; of the embedded instance the one whose interfaces it has."
    )


class LeadLoss(Record):
    """A lead broker that was lost while the instance had work."""

    cause: Literal["PodGone", "PodEnded"] = Field(description="What happened to its pod.")
    exit_code: Integer | None = Field(
        None, description="With which exit code the pod ended, where it is known."
    )
    is_over: bool = Field(
        False, description="Whether another lead works, so that this is about the one before it."
    )


class RestartedJob(Record):
    """A job that could not finish where it ran: started again under a new id, or lost."""

    job: ShortText = Field(description="Id of the job that could not finish.", min_length=1)
    new_job: ShortText = Field("", description="Id under which it was started again; empty: it was lost.")
    why: ShortText = Field("", description="Why it could not be started again, where it was lost.")
    cause: Literal["Save", "Resize", "NodeLoss"] = Field(description="What it could not finish for.")


class PlanningStatus(Record):
    """A document whose planning took more time or memory than it may; it is tried again ever less often."""

    generation: Version = Field(description="Generation of that document.")
    attempts: Natural = Field(description="How often it was tried.")
    retry_at: Time = Field(description="When it is tried again, unless the document changes before.")


class Status(Record):
    """Written by the operator (or the local supervisor), never by people."""

    size: BrokerCount = Field(0, description="Number of brokers asked for and made.")
    selector: ShortText = Field(
        "", description="Label selector of the broker pods, for the scale subresource."
    )
    maximum_size: BrokerCount = Field(
        0, description="Hosts registered with Flux when it started: growth ends here."
    )
    jobid: ShortText = Field("", description="Id of the main job.")
    conditions: Annotated[tuple[Condition, ...], Field(max_length=64)] = Field(
        (), description="What is true about the MiniCluster, with reasons."
    )
    observed_generation: Version = Field(0, description="Generation of the document that this is about.")
    ready_brokers: BrokerCount = Field(0, description="Brokers that have joined the instance.")
    phase: ShortText = Field("", description="One word for people: how is it?")
    exit_code: Integer | None = Field(None, description="Exit code of the main command, once it has ended.")
    start_time: Time | None = Field(None, description="When the objects were made.")
    completion_time: Time | None = Field(None, description="When the main command ended.")
    last_dump: LastDump | None = Field(None, description="The latest saved state.")
    queue_policy: ShortText = Field("", description="The policy that really decides, with its origin.")
    lead: LeadStatus | None = Field(None, description="What the lead broker runs.")
    save: SaveStatus | None = Field(None, description="The save that goes before a suspension or a deletion.")
    resize: ResizeStatus | None = Field(None, description="The resize under way; absent: it has its size.")
    node_loss: NodeLoss | None = Field(
        None, description="What became of the jobs of lost followers; absent: none are missing."
    )
    lead_loss: LeadLoss | None = Field(
        None, description="The last loss of the lead broker since the instance was first started or resumed."
    )
    restarted_jobs: Annotated[tuple[RestartedJob, ...], Field(max_length=MAX_RESTARTED_JOBS)] = Field(
        (),
        description="Jobs that could not finish, by cause: of the last save, the resize under way, and the"
        " lost followers. At most 16 restarted and 16 lost ones a cause are named.",
    )
    bursts: Annotated[tuple[BurstStatus, ...], Field(max_length=MAX_BURSTS)] = Field(
        (), description="Bursts that are not deleted yet; written by the burst service."
    )
    planning: PlanningStatus | None = Field(
        None, description="Planning that took too much (condition `Valid`); absent: it did not."
    )
    granularity: GranularityStatus | None = Field(
        None, description="How the MiniCluster was cut into brokers; absent: it was not."
    )
