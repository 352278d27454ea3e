"""The arguments and the result of `plan()`: frozen records, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from minicluster.flux_zips import INSTALLED, FluxFiles
from minicluster.plan.constants import (
    CONFIG_DIR,
    CURVE_DIR,
    CURVE_FILE,
    LEAD_API_PORT,
    RUN_DIR,
    TOKENS_DIR,
)
from minicluster.plan.objects.keys import FIRST_GENERATIONS

if TYPE_CHECKING:
    from datetime import datetime

    from broker_config.settings import BrokerEndpoint
    from minicluster.document import GranularityName, SaveStatus
    from minicluster.plan.constants import Reason
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.objects.keys import Generations


@dataclass(frozen=True, slots=True)
class Site:
    """Where the MiniCluster will run, and what this site offers."""

    namespace: str = "default"
    """For documents that name none."""
    cores: int | None = None
    """Of a broker whose container asks for no CPU; None: those that it may use, counted when it starts."""
    endpoints: tuple[BrokerEndpoint, ...] | None = None
    """The brokers' addresses on a machine without DNS; None: the names of the Service."""
    image_volumes: bool = False
    """Whether the cluster mounts images as volumes (on by default from Kubernetes 1.35)."""
    scaling_tolerance: bool = False
    """Whether its autoscalers have the field `tolerance` (on by default from Kubernetes 1.35)."""
    operator_namespace: str = ""
    """The only namespace whose pods may use the lead API, as operator or adapter; empty: no pod may."""
    lead_api: bool = False
    """Whether there is an operator, and so a lead API for it."""
    lead_api_port: int = LEAD_API_PORT
    generations: Generations = FIRST_GENERATIONS
    """Of the tokens for the lead API."""
    granularity: GranularityName = "none"
    """How MiniClusters with a profile are cut into brokers."""
    granularity_override: bool = False
    """Whether a document may say otherwise."""
    config_dir: str = CONFIG_DIR
    """Where brokers find their settings."""
    curve_dir: str = CURVE_DIR
    """Where brokers find the certificate."""
    tokens_dir: str = TOKENS_DIR
    """Where the lead finds the tokens of its API for single purposes."""
    label_output: bool = False
    """Whether each line of the main command's output begins with its task's rank."""
    passes_input: bool = False
    """Whether the main command gets the lead's standard input."""
    curve_path: str = f"{RUN_DIR}/{CURVE_FILE}"
    """Where a broker keeps its own copy of the certificate (mode 0400)."""
    flux_files: FluxFiles = INSTALLED
    """What real Flux's lead gets of this project; nothing else in a plan depends on what is installed."""


class ObjectKey(NamedTuple):
    """An object in the MiniCluster's namespace."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class ObservedObject:
    """An object that exists."""

    key: ObjectKey
    owner_uid: str = ""
    owner: str = ""
    """The kind and name of its controller, such as "MiniCluster other"."""


@dataclass(frozen=True, slots=True)
class ApplyRefusal:
    """An object that could not be applied, such as for a quota, a webhook, or a namespace that ends."""

    key: ObjectKey
    message: str


@dataclass(frozen=True, slots=True)
class JobCondition:
    """A condition of a Job: Complete, Failed, Suspended, SuccessCriteriaMet, FailureTarget."""

    type: str
    status: str = "True"
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class JobReport:
    """The state of the Job: its pods, and how it ended."""

    parallelism: int
    """How many pods it is to have."""
    active: int = 0
    """How many of them have not ended."""
    suspended: bool = False
    conditions: tuple[JobCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None
    mounts_flux_files: bool = False
    """Whether its pods mount the namespace's Flux files; those of 0.1.0 have them in their own ConfigMap."""


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Dump:
    """The dump that a lead broker left when its instance was saved."""

    time: datetime
    """When the container ended, by its node's clock."""
    path: str
    bytes: int = 0
    jobs: int = 0
    """How many jobs are in it."""
    restarted: Pairs = ()
    """The first jobs that were submitted again because they could not finish: (old id, new id)."""
    lost: Pairs = ()
    """The first jobs that could not finish and are lost: (id, why)."""
    restarted_total: int = 0
    lost_total: int = 0


PodPhase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@dataclass(frozen=True, slots=True)
class PodReport:
    """The state of the broker pod (or local broker process) of one index."""

    index: int
    phase: PodPhase = "Pending"
    scheduled: bool = False
    reason: str = ""
    """Why it waits, such as "ImagePullBackOff"."""
    message: str = ""
    exit_code: int | None = None
    """Of its runner's last end, as is the termination message."""
    termination_message: str = ""
    address: str = ""
    """The pod's IP."""
    leaving: bool = False
    """Whether the pod is being deleted; its broker may still take jobs until it gets the signal."""
    dump: Dump | None = None
    """The dump that its runner left when it last ended."""
    refusal: str = ""
    """Why it could not start."""
    out_of_memory: bool = False
    """Whether its runner last ended because it was killed for memory."""


class NodeTaint(NamedTuple):
    """A taint of a node that keeps pods away, unless they tolerate it."""

    key: str
    value: str
    effect: str
    """NoSchedule or NoExecute."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node of the Kubernetes cluster."""

    name: str
    ready: bool
    labels: Pairs = ()
    taints: tuple[NodeTaint, ...] = ()
    """Those that keep pods away, of a cordoned node also that by which the scheduler knows it."""
    cores: int = 0
    """Whole CPUs that all its pods together may request."""


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """The lead's progress with a save that was ordered."""

    phase: Literal["waiting", "writing", "failed"]
    reported_at: str = ""
    """When the phase began by the lead's own clock; two failures differ by it."""
    waiting_for: int = 0
    """How many jobs must end before."""
    error: str = ""
    since: datetime | None = None
    """When the phase was first received, by the operator's clock."""


@dataclass(frozen=True, slots=True)
class LeadVersions:
    """What a lead broker runs, as it reports it."""

    minicluster: str = ""
    """Of this project; empty: the lead does not report it, as that of 0.1.0."""
    engine: str = ""
    """flux, or embedded."""
    flux: str = ""


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """The lead broker's report of the instance, ranks as idsets (RFC 22)."""

    online: str = ""
    """The brokers that have joined."""
    drained: str = ""
    """The brokers that get no more jobs."""
    shrunk: str = ""
    """Those of them that were drained by a shrink of ours."""
    busy: str = ""
    """The brokers with jobs."""
    running: bool = False
    """Whether work has begun."""
    jobid: str = ""
    queue_policy: str = ""
    versions: LeadVersions = LeadVersions()
    troubles: tuple[str, ...] = ()
    """Why missing brokers have not joined, such as "mc-2: turned away: wrong certificate"."""
    halted: tuple[str, ...] = ()
    """Why queues start no jobs."""
    saving: SaveProgress | None = None
    """A save that goes on, or has failed."""
    kept: tuple[str, ...] = ()
    """Jobs of an archive for which this instance is too small, each with the reason."""


class Disruption(NamedTuple):
    """A broker's pod that Kubernetes took away itself, such as with its node."""

    rank: int
    started: datetime
    """When its node's kubelet first knew of it."""
    taken: datetime
    """When Kubernetes announced that it takes the pod away."""


@dataclass(frozen=True, slots=True)
class LeadCommand:
    """A command for the lead broker.

    `drain` gives ranks no more jobs, `undrain` gives them jobs again. `restart` starts the jobs of ranks
    again elsewhere, `recover` those that ended with the pods in `lost`. `save` saves the instance.
    """

    action: Literal["drain", "undrain", "restart", "recover", "save"]
    ranks: str = ""
    """An idset."""
    reason: str = ""
    seconds: int = 0
    """How long jobs may run on before a save."""
    generation: int = 0
    """The generation of the document that the command is for."""
    lost: tuple[Disruption, ...] = ()


@dataclass(frozen=True, slots=True)
class RestartReport:
    """The lead's answer to a command that starts jobs again."""

    order: LeadCommand
    restarted: Pairs = ()
    """(old id, new id)."""
    lost: Pairs = ()
    """The jobs that could not be started again: (id, why)."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists now."""

    objects: tuple[ObservedObject, ...] = ()
    """The Secret is among them once it existed, or its creation was accepted."""
    job: JobReport | None = None
    pods: tuple[PodReport, ...] = ()
    brokers: BrokerReport | None = None
    """The lead's last report; None as long as there is none."""
    unreachable_reason: str = ""
    """Why there is no report, if there has been none for some seconds."""
    refusals: tuple[ApplyRefusal, ...] = ()
    """The objects that were refused when the plan was last applied."""
    dump: Dump | None = None
    """The newest dump that a lead has left."""
    restarted: RestartReport | None = None
    """The lead's answer to the last command `restart`."""
    recovered: RestartReport | None = None
    """The lead's answer to the last command `recover`."""
    disrupted: tuple[Disruption, ...] = ()
    """The followers whose pods were taken away, until brokers of their ranks have joined again."""
    since: datetime | None = None
    """When the operator began to observe."""
    pod_refusal: str = ""
    """Why the Job could not make a pod that it lacks, such as for Pod Security, a quota, or an account."""
    nodes: tuple[NodeReport, ...] | None = None
    """The cluster's nodes, as long as it is to be decided how brokers are cut; None: they are not known."""
    tokens: str = ""
    """The generations of the tokens in its second Secret, as an annotation has them; empty: it has none."""

    def find(self, key: ObjectKey) -> ObservedObject | None:
        """Return the object of that kind and name, where there is one."""
        return next((item for item in self.objects if item.key == key), None)


@dataclass(frozen=True, slots=True)
class Saving:
    """The save before a suspension or a deletion."""

    pending: bool = False
    """Whether the pods must stay for now."""
    status: SaveStatus | None = None
    """The state of the save; None where there is none."""
    dump: Dump | None = None
    """The dump that the save ended with, where the lead has left it."""
    orders: tuple[LeadCommand, ...] = ()
    again: float | None = None
    """In how many seconds the result is another one."""


@dataclass(frozen=True, slots=True)
class Resize:
    """How many pods there are to be now, and what must happen before the document's size is reached."""

    pods: int
    orders: tuple[LeadCommand, ...] = ()
    again: float | None = None
    """In how many seconds the result is another one."""
    since: datetime | None = None
    """Since when ranks are waited for; None where none are."""
    until: datetime | None = None
    """Until when they are waited for at the latest."""
    draining: str = ""
    """Ranks that have to stay for now, as an idset."""
    busy: str | None = ""
    """Leaving ranks that have jobs, as an idset; None: not known."""
    overdue: bool = False
    """Whether their time is over, and their pods go with the jobs that still run there."""
    returning: str = ""
    """Ranks that were drained, and are to stay after all, as an idset."""
    restarting: bool = False
    """Whether the lead is asked to start their jobs again elsewhere."""
    restarted: RestartReport | None = None
    """The lead's answer to that."""
    released: bool = False
    """Whether that answer is stored, so that the pods go."""


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """An Event about the MiniCluster."""

    type: Literal["Normal", "Warning"]
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one reconcile does."""

    objects: tuple[Object, ...]
    """The objects to apply, in this order."""
    status: Object
    """The status; one that is equal to the stored status needs no write."""
    events: tuple[KubernetesEvent, ...] = ()
    delete: tuple[ObjectKey, ...] = ()
    orders: tuple[LeadCommand, ...] = ()
    """Commands for the lead, to send once the status is written."""
    again: float | None = None
    """In how many seconds the plan is another one, even if nothing else changes."""
    finalizer: bool | None = None
    """Whether our finalizer is to be on the MiniCluster (None: as it is): added first, removed last."""
