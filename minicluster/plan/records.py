"""What goes into `plan()` and what comes out of it: frozen records, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from minicluster.flux_zips import INSTALLED, FluxFiles
from minicluster.plan.constants import CONFIG_DIR, CURVE_DIR, CURVE_FILE, LEAD_API_PORT, RUN_DIR

if TYPE_CHECKING:
    from datetime import datetime

    from broker_config.settings import BrokerEndpoint
    from minicluster.document import SaveStatus
    from minicluster.plan.constants import Reason
    from minicluster.plan.objects.fields import Object


@dataclass(frozen=True, slots=True)
class Site:
    """Where the MiniCluster will run, and what is on offer there.

    `cores` counts for a broker whose container asks for no CPU (None: what it may use, found when it starts);
    `endpoints` (a machine without DNS) stand in
    place of the Service's names; `image_volumes` says whether the cluster mounts images as volumes (on by
    default from Kubernetes 1.35), `scaling_tolerance` whether its autoscalers may be told how exact to be (on
    by default from 1.35); with `lead_api` an operator is there that asks the lead broker by its door, and
    with `operator_namespace` only the one in that namespace may.
    With `label_output` each line of the main command's output carries its task's rank.
    Brokers find their settings in `config_dir`, the certificate in `curve_dir`, and keep their own copy of it
    (mode 0400) at `curve_path`.
    """

    namespace: str = "default"
    cores: int | None = None
    endpoints: tuple[BrokerEndpoint, ...] | None = None
    image_volumes: bool = False
    scaling_tolerance: bool = False
    operator_namespace: str = ""
    lead_api: bool = False
    lead_api_port: int = LEAD_API_PORT
    config_dir: str = CONFIG_DIR
    curve_dir: str = CURVE_DIR
    label_output: bool = False
    curve_path: str = f"{RUN_DIR}/{CURVE_FILE}"
    flux_files: FluxFiles = INSTALLED
    """What real Flux's lead gets of ours: the one way in which a plan depends on what is installed."""


class ObjectKey(NamedTuple):
    """An object in the MiniCluster's namespace."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class ObservedObject:
    """An object that exists. `owner` is its controller in words, such as "MiniCluster other"."""

    key: ObjectKey
    owner_uid: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ApplyRefusal:
    """An object that could not be applied: a quota, an admission webhook, a namespace that is going."""

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
    """What the Job says: pods asked for (`parallelism`) and alive (`active`), and how it ended."""

    parallelism: int
    active: int = 0
    suspended: bool = False
    conditions: tuple[JobCondition, ...] = ()
    start_time: datetime | None = None
    completion_time: datetime | None = None


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Dump:
    """What a lead broker left when its instance was saved: where, how large, and so many jobs to go on with.

    `time` is that of the container's end, by its node's clock. Jobs that could not finish were `restarted`
    (old id, new id), or `lost` (id, why); of many only the first are named, the totals count all.
    """

    time: datetime
    path: str
    bytes: int = 0
    jobs: int = 0
    restarted: Pairs = ()
    lost: Pairs = ()
    restarted_total: int = 0
    lost_total: int = 0


PodPhase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@dataclass(frozen=True, slots=True)
class PodReport:
    """What the broker pod (or local broker process) of one index says.

    `reason` and `message` say why it waits, such as "ImagePullBackOff"; `exit_code` and
    `termination_message` are those of its runner's last end, `dump` what it then left, `refusal` why it could
    not start; `address` is the pod's IP.
    A pod that is `leaving` was told to go, and its broker may still take jobs until it has heard of that.
    """

    index: int
    phase: PodPhase = "Pending"
    scheduled: bool = False
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    termination_message: str = ""
    address: str = ""
    leaving: bool = False
    dump: Dump | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class SaveProgress:
    """How far the lead is with a save that it was told to make.

    `reported_at` is the lead's own time of the phase, by which two failures differ; `since` is when that was
    heard.
    """

    phase: Literal["waiting", "writing", "failed"]
    reported_at: str = ""
    waiting_for: int = 0
    error: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """What the lead broker says of the instance, ranks as idsets (RFC 22).

    `online` are the brokers that have joined, `drained` those that get no more jobs (`shrunk`: because of a
    shrink of ours), `busy` those with jobs. `running`: work has begun. `troubles` say why brokers that are
    waited for are not there, such as "mc-2: turned away: wrong certificate". `halted`: why queues start no
    jobs. `saving`: a save that goes on, or has failed. `kept` are jobs of an archive for which this instance
    is too small, each with why.
    """

    online: str = ""
    drained: str = ""
    shrunk: str = ""
    busy: str = ""
    running: bool = False
    jobid: str = ""
    queue_policy: str = ""
    troubles: tuple[str, ...] = ()
    halted: tuple[str, ...] = ()
    saving: SaveProgress | None = None
    kept: tuple[str, ...] = ()


class Disruption(NamedTuple):
    """A broker's pod that Kubernetes took away for the cluster's sake, such as with its node.

    `started` is when its node's kubelet had first heard of it, `taken` when it was told to go.
    """

    rank: int
    started: datetime
    taken: datetime


@dataclass(frozen=True, slots=True)
class LeadCommand:
    """What the lead broker is told.

    To give these ranks (an idset) no more jobs, or jobs again; to start the jobs of these ranks again
    elsewhere, or to `recover` those that were `lost` with their pods; to save, for which jobs may run on for
    so many `seconds`. `generation` is that of the document that it is for.
    """

    action: Literal["drain", "undrain", "restart", "recover", "save"]
    ranks: str = ""
    reason: str = ""
    seconds: int = 0
    generation: int = 0
    lost: tuple[Disruption, ...] = ()


@dataclass(frozen=True, slots=True)
class RestartReport:
    """The lead's answer to an order to start jobs again: (old id, new id), (id, why) where it could not."""

    order: LeadCommand
    restarted: Pairs = ()
    lost: Pairs = ()


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists now. The Secret counts as observed once its creation was accepted or it existed.

    `brokers` is None as long as the lead has not been heard; `unreachable_reason` then says why, once that
    has lasted. `refusals` are those of the last attempt to carry the plan out. `dump` is the newest that a
    lead has left, `restarted` the lead's answer to the last order to restart jobs, `recovered` that to the
    last one to recover some. `disrupted` are the followers whose pods were taken away, until others have
    joined in their places; `since`: from when on it is observed.
    """

    objects: tuple[ObservedObject, ...] = ()
    job: JobReport | None = None
    pods: tuple[PodReport, ...] = ()
    brokers: BrokerReport | None = None
    unreachable_reason: str = ""
    refusals: tuple[ApplyRefusal, ...] = ()
    dump: Dump | None = None
    restarted: RestartReport | None = None
    recovered: RestartReport | None = None
    disrupted: tuple[Disruption, ...] = ()
    since: datetime | None = None

    def find(self, key: ObjectKey) -> ObservedObject | None:
        """Return the object of that kind and name, where there is one."""
        return next((item for item in self.objects if item.key == key), None)


@dataclass(frozen=True, slots=True)
class Saving:
    """What goes before a suspension or a deletion."""

    pending: bool = False
    """Whether the pods must stay for now."""
    status: SaveStatus | None = None
    """How far the save is; None where there is none."""
    dump: Dump | None = None
    """The dump that the save ended with, where the lead has left it."""
    orders: tuple[LeadCommand, ...] = ()
    again: float | None = None
    """In how many seconds the result is another one."""


@dataclass(frozen=True, slots=True)
class Resize:
    """How many pods there are to be now, and what goes before there are as many as the document wants."""

    pods: int
    orders: tuple[LeadCommand, ...] = ()
    again: float | None = None
    """In how many seconds the result is another one."""
    since: datetime | None = None
    """Since when ranks are waited for; None where none are."""
    until: datetime | None = None
    """Until when they are waited for at the latest."""
    draining: tuple[int, ...] = ()
    """Ranks that have to stay for now."""
    busy: tuple[int, ...] | None = ()
    """Ranks of those to leave that have jobs; None: not known."""
    overdue: bool = False
    """Whether they were waited for long enough, and go with whatever runs there."""
    returning: tuple[int, ...] = ()
    """Ranks that were drained, and are to stay after all."""
    restarting: bool = False
    """Whether the lead is asked to start their jobs again elsewhere."""
    restarted: RestartReport | None = None
    """The lead's answer to that."""
    released: bool = False
    """Whether that answer is stored, and the pods go."""


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """What a person is told about the MiniCluster."""

    type: Literal["Normal", "Warning"]
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one reconcile does: objects to apply in this order, to delete, the status, Events.

    A status equal to the one that is stored needs no write. The lead gets its `orders` after that. `again`:
    in so many seconds the plan is another one, though nothing else has changed. `finalizer`: whether ours is
    to be on the MiniCluster (None: as it is); it is added before anything else, and removed last.
    """

    objects: tuple[Object, ...]
    status: Object
    events: tuple[KubernetesEvent, ...] = ()
    delete: tuple[ObjectKey, ...] = ()
    orders: tuple[LeadCommand, ...] = ()
    again: float | None = None
    finalizer: bool | None = None
