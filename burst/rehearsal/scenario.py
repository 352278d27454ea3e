"""A scenario as records: a MiniCluster, the settings of the service, the queue, clouds and their faults."""

from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from burst.rehearsal.cloud import CloudFault
from minicluster.document.bounds import MAX_CORES, MAX_GPUS, MAX_HOSTS
from minicluster.document.bursting import BurstPolicy
from minicluster.document.flux import BurstedCluster
from minicluster.document.record import Record
from minicluster.document.scalars import LabelName, TextPattern

MAX_JOBS = 20_000
FaultName = Literal[
    "unavailable",
    "throttled",
    "denied",
    "quota",
    "no-capacity",
    "part",
    "broken",
    "answer-lost",
    "fails",
    "hangs",
    "lies",
]
Span = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
JobCount = Annotated[int, Field(ge=1, le=MAX_JOBS)]
HostCount = Annotated[int, Field(ge=0, le=MAX_HOSTS)]
CoreCount = Annotated[int, Field(ge=1, le=MAX_CORES)]
GpuCount = Annotated[int, Field(ge=0, le=MAX_GPUS)]
Wish = Annotated[bool, Strict()] | Annotated[str, Strict(), Field(min_length=1, max_length=63)]
PayerName = Annotated[str, Field(min_length=1, max_length=256)]
BeginText = Annotated[
    str,
    Strict(),
    TextPattern(
        r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ",
        'a time in UTC in quotes, such as "2026-03-02T08:00:00Z"',
    ),
]


class ScenarioCluster(Record):
    """The MiniCluster: its own nodes, slots, and what its document says of bursting."""

    name: LabelName = Field("rehearsed", description="Its name.")
    namespace: LabelName = Field("default", description="Its namespace, for budgets of MiniClusters.")
    nodes: HostCount | None = Field(
        None, description="Its own nodes. Absent: as many as the document has at most."
    )
    cores: CoreCount = Field(description="Cores of each node.")
    gpus: GpuCount = Field(0, description="GPUs of each node.")
    queue_policy: Annotated[str, Field(max_length=63)] = Field(
        "easy", description="Queue policy that starts jobs, as `minicluster policies` lists them."
    )
    document: Annotated[str, Field(max_length=4096)] = Field(
        "", description="File of a MiniCluster with slots and `spec.bursting`, beside the scenario's."
    )
    slots: tuple[BurstedCluster, ...] = Field(
        (), description="Without a document: slots, as `flux.bursting.clusters` has them."
    )
    bursting: BurstPolicy | None = Field(
        None, description="Without a document: what `spec.bursting` has. `dryRun` counts as false."
    )


class ScenarioJobs(Record):
    """One job, or several alike."""

    submit_seconds: Span = Field(0.0, description="When it is submitted, from the begin on.")
    count: JobCount = Field(1, description="How many of them.")
    every_seconds: Span = Field(0.0, description="From one submission to the next.")
    nodes: HostCount = Field(
        0, description="Nodes that it takes as a whole. 0: it takes tasks, on any nodes."
    )
    tasks: JobCount = Field(1, description="Without `nodes`: how many tasks it has.")
    cores_per_task: CoreCount = Field(1, description="Without `nodes`: cores of a task.")
    gpus_per_task: GpuCount = Field(0, description="GPUs of a task, or of each node.")
    run_seconds: Span = Field(description="How long it really runs.")
    limit_seconds: Span = Field(0.0, description="Its time limit, which ends it. 0 or absent: none.")
    user: PayerName = Field("alice", description="Who pays for it.")
    burstable: Wish = Field(False, description="Whether it may burst: true, false or a provider's name.")
    urgency: Annotated[int, Field(ge=0, le=31)] = Field(16, description="As `submit --urgency`; 0: on hold.")


class GeneratedJobs(Record):
    """Jobs that are drawn: the same ones for the same seed. They take whole nodes."""

    count: JobCount = Field(description="How many.")
    seed: int = Field(1, description="Other numbers give other jobs.")
    mean_gap_seconds: Span = Field(60.0, description="From one submission to the next, on average.")
    least_nodes: Annotated[int, Field(ge=1, le=MAX_HOSTS)] = Field(1, description="Nodes, at least.")
    most_nodes: Annotated[int, Field(ge=1, le=MAX_HOSTS)] = Field(4, description="Nodes, at most.")
    least_seconds: Annotated[float, Field(gt=0, le=1e9)] = Field(60.0, description="Run time, at least.")
    most_seconds: Annotated[float, Field(gt=0, le=1e9)] = Field(3600.0, description="Run time, at most.")
    limit_factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="How many times the run time the time limit is."
    )
    burstable_fraction: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="How many of them may burst."
    )
    users: Annotated[tuple[PayerName, ...], Field(min_length=1)] = Field(
        ("alice", "bob"), description="Whose they are, one as often as the other."
    )


class ScenarioQueue(Record):
    """What is submitted: written here, in a file, and drawn. All of it counts."""

    jobs: tuple[ScenarioJobs, ...] = Field((), description="Jobs as written here.")
    file: Annotated[str, Field(max_length=4096)] = Field(
        "", description="CSV file beside the scenario's; its first line has names of fields of `jobs`."
    )
    generated: GeneratedJobs | None = Field(None, description="Jobs that are drawn.")


class ScenarioCloud(Record):
    """How a provider's cloud behaves."""

    coming_seconds: Span = Field(90.0, description="Until nodes are ready; they cost from the begin on.")
    going_seconds: Span = Field(60.0, description="Until deleted nodes are gone; they cost until then.")
    lag_seconds: Span = Field(0.0, description="How old its listings are.")
    capacity: dict[str, HostCount] = Field(
        default_factory=dict, description="By machine: how many there are. Absent: any number."
    )
    quota: HostCount | None = Field(None, description="Machines that the account may have.")


class ScenarioFault(Record):
    """Something that goes wrong at a provider."""

    provider: LabelName = Field(description="The provider's name in the settings.")
    call: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        description="The call that it happens to, such as `eks.CreateNodegroup` or `nodes.create`."
    )
    fault: FaultName = Field(description="What happens.")
    number: Annotated[int, Field(ge=1)] | None = Field(
        None, description="To which of these calls, the first one is 1. Absent: the next one."
    )
    at_seconds: Span = Field(0.0, description="Without `number`: from when on it is the next one.")
    retry_after_seconds: Span = Field(0.0, description="Of `throttled`: how long the cloud asks to wait.")

    @property
    def meant(self) -> CloudFault:
        """What happens."""
        return CloudFault(self.fault)


class Scenario(Record):
    """All that a rehearsal needs."""

    cluster: ScenarioCluster = Field(description="The MiniCluster whose jobs burst.")
    settings: Annotated[str, Strict()] | dict[str, Any] = Field(
        description="Settings of the service: a file beside the scenario's, or what it has."
    )
    queue: ScenarioQueue = Field(description="What is submitted.")
    clouds: dict[str, ScenarioCloud] = Field(
        default_factory=dict, description="By the name of a provider: how its cloud behaves."
    )
    faults: tuple[ScenarioFault, ...] = Field((), description="What goes wrong.")
    begin: BeginText = Field("2026-01-05T08:00:00Z", description="When it begins, for budgets' periods.")
    end_seconds: Annotated[float, Field(gt=0, le=1e9)] = Field(
        30 * 86_400.0, description="When it ends at the latest: after that no burst is made."
    )
    tick_seconds: Annotated[float, Field(ge=1, le=600)] = Field(
        5.0, description="How often the service works while there are bursts."
    )
    seed: int = Field(1, description="For the ids of bursts.")
