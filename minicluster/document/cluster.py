"""The MiniCluster: the whole document, its `spec`, and the small parts of it."""

from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from broker_config.settings import DEFAULT_PORT
from minicluster.document.autoscaling import Autoscaling
from minicluster.document.bursting import BurstPolicy
from minicluster.document.container import Container, TextMap
from minicluster.document.flux import FluxSpec
from minicluster.document.granularity import GranularityName, ProfileName
from minicluster.document.names import API_VERSION, KIND
from minicluster.document.pod import PodSpec
from minicluster.document.record import Record
from minicluster.document.scalars import (
    MAX_CONTAINERS,
    MAX_ENTRIES,
    BrokerCount,
    DirectoryPath,
    Flag,
    HostLabel,
    Natural,
    ObjectName,
    OptionalHostLabel,
    OptionalLabelName,
    Port,
    ShortText,
    TextPattern,
)
from minicluster.document.status import Status, Time, Version

# The reference's "approximately one year".
DEFAULT_DEADLINE = 31_500_000


class Metadata(Record):
    """Kubernetes' object metadata, as far as a document or a server writes it."""

    name: HostLabel = Field(description="Name of the MiniCluster; its hosts are called `<name>-<rank>`.")
    namespace: OptionalLabelName = Field("", description="Namespace; absent: the current one.")
    labels: TextMap = Field(default_factory=dict, description="Labels of the MiniCluster itself.")
    annotations: Annotated[
        dict[Annotated[str, Field(max_length=317)], Annotated[str, Field(strict=True, max_length=262_144)]],
        Field(max_length=MAX_ENTRIES),
    ] = Field(default_factory=dict, description="Annotations of the MiniCluster itself.")
    uid: ShortText = Field("", description="Unique id, given by the server.")
    resource_version: ShortText = Field("", description="Version of the object, given by the server.")
    generation: Version = Field(0, description="Counts changes of the spec, given by the server.")
    creation_timestamp: Time | None = Field(None, description="When it was created, given by the server.")
    deletion_timestamp: Time | None = Field(None, description="When its deletion was asked for.")
    deletion_grace_period_seconds: Natural | None = Field(None, description="Given by the server.")
    finalizers: tuple[ShortText, ...] = Field((), description="What must be done before it goes.")
    owner_references: tuple[dict[str, Any], ...] = Field((), description="Objects that own it.")
    managed_fields: tuple[dict[str, Any], ...] = Field((), description="Given by the server.")
    self_link: ShortText = Field("", description="Given by old servers.")


class Network(Record):
    """Names, ports and places of the brokers."""

    headless_name: OptionalHostLabel = Field(
        "", description="Name of the headless Service and the pods' subdomain; absent: `metadata.name`."
    )
    disable_affinity: Flag = Field(
        False, description="Do not ask for one pod a node; the document's own affinity stays."
    )
    one_per_node: Literal["Preferred", "Required"] = Field(
        "Preferred", description="Whether two brokers may share a node where there are too few."
    )
    domain: ObjectName = Field("cluster.local", description="DNS domain of the cluster.")
    port: Port = Field(DEFAULT_PORT, description="Port that the brokers listen on.")


class Logging(Record):
    """How much the start script says."""

    quiet: Flag = Field(False, description="Only the main command's own output.")
    strict: Flag = Field(False, description="Any failing line of a hook ends the broker.")
    debug: Flag = Field(False, description="More messages of Flux.")
    zeromq: Flag = Field(False, description="Messages about the brokers' connections.")
    timed: Flag = Field(False, description="Times of Flux's commands.")


class Archive(Record):
    """Saved state of an instance."""

    path: DirectoryPath = Field(
        "", description="File to restore from at start, and to save to at stop; no job is lost."
    )


class MiniClusterSpec(Record):
    """What is wanted."""

    containers: Annotated[tuple[Container, ...], Field(min_length=1, max_length=MAX_CONTAINERS)] = Field(
        description="Containers of every broker pod. Exactly one runs Flux; a single one need not say so."
    )
    services: Annotated[tuple[Container, ...], Field(max_length=MAX_CONTAINERS)] = Field(
        (), description="Containers of one extra pod, `<name>-services`."
    )
    size: BrokerCount = Field(
        1,
        description="Number of pods, each with one broker. 0 only together with `suspend`. Where brokers are"
        " cut by `profile`, each of these becomes `status.granularity.brokers` of them.",
    )
    max_size: BrokerCount = Field(
        0, description="Hosts registered with Flux from the start: growth ends here. 0 or absent: `size`."
    )
    min_size: BrokerCount = Field(
        0, description="Brokers that must be up before work starts, and floor of scaling. 0 or absent: none."
    )
    tasks: Natural = Field(
        1, description="Number of tasks (`-n`) of the main command; 0: one a node, on `size` nodes."
    )
    profile: ProfileName | None = Field(
        None, description="What the tasks of the main command use most; its job has it as user.profile."
    )
    granularity: GranularityName | None = Field(
        None,
        description="How brokers are cut by `profile`, where the operator lets documents choose"
        " (`--granularity-override`). Absent: as the operator's `--granularity` says.",
    )
    interactive: Flag = Field(False, description="Keep the instance up, for work sent to it later.")
    deadline_seconds: Annotated[int, Strict(), Field(ge=0)] = Field(
        DEFAULT_DEADLINE, description="Seconds after which the whole is ended; 0: never."
    )
    backoff_limit: Natural = Field(100, description="How many pods may be lost before the whole fails.")
    drain_timeout_seconds: Natural = Field(
        60, description="Seconds that a shrink or a save waits for running jobs."
    )
    suspend: Flag = Field(False, description="Hold the Job back, or stop it (Kueue uses this).")
    managed_by: Annotated[
        str,
        Strict(),
        Field(max_length=63),
        TextPattern(
            r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)?",
            "a domain and a path, such as kueue.x-k8s.io/multikueue",
        ),
    ] = Field("", description="Another controller that looks after this MiniCluster; ours then does not.")
    cleanup: Flag = Field(
        False, description="Delete the MiniCluster when the lead broker has ended and its result is written."
    )
    job_labels: TextMap = Field(
        default_factory=dict, description="Labels of the Job (Kueue's queue name goes here)."
    )
    share_process_namespace: Flag = Field(
        False, description="Containers of a pod see each other's processes."
    )
    archive: Archive = Field(default_factory=Archive, description="Saved state to restore and to save.")
    autoscaling: Autoscaling | None = Field(None, description="Make an autoscaler for this MiniCluster.")
    bursting: BurstPolicy | None = Field(
        None, description="Have a burst service add remote hosts. Absent: they are added by hand."
    )
    network: Network = Field(default_factory=Network, description="Names, ports and places of the brokers.")
    logging: Logging = Field(default_factory=Logging, description="How much the start script says.")
    pod: PodSpec = Field(default_factory=PodSpec, description="Settings of the broker pods.")
    flux: FluxSpec = Field(default_factory=FluxSpec, description="Options of Flux.")


class MiniCluster(Record):
    """A Flux instance of several brokers, and the work that it is made for."""

    api_version: Literal["flux-framework.org/v1alpha2"] = Field(
        API_VERSION, description="Version of the schema of this document."
    )
    kind: Literal["MiniCluster"] = Field(KIND, description="What this document is.")
    metadata: Metadata = Field(description="Name, namespace, labels.")
    spec: MiniClusterSpec = Field(description="What is wanted.")
    status: Status = Field(default_factory=Status, description="What is known; written by the operator.")
