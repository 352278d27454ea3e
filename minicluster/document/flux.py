"""How Flux runs inside the pods: its image, its options, its scheduler, its remote hosts."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from broker_config.settings import DEFAULT_PORT
from minicluster.document.bounds import MAX_CORES, MAX_GPUS
from minicluster.document.container import Environment
from minicluster.document.record import Record
from minicluster.document.resources import ResourceRequirements
from minicluster.document.scalars import (
    MAX_SCRIPT,
    BrokerCount,
    DirectoryPath,
    Duration,
    Flag,
    LabelName,
    OptionalLabelName,
    OptionalObjectName,
    PlainValue,
    Port,
    SettingName,
    ShortText,
    SingleLine,
    TextPattern,
    Topology,
)
from minicluster.document.security import SecurityContext

DEFAULT_FLUX_IMAGE = "ghcr.io/converged-computing/flux-view-ubuntu:tag-noble"

PolicyName = Annotated[
    str,
    Strict(),
    Field(max_length=128),
    TextPattern(
        r"(minicluster/)?[a-z0-9]([a-z0-9_.-]*[a-z0-9])?|",
        'a policy\'s name, such as "fcfs" (Fluxion\'s) or "minicluster/easy" (ours)',
    ),
]
PlacementName = Annotated[
    str,
    Strict(),
    Field(max_length=128),
    TextPattern(
        r"(minicluster/)?[a-z0-9]([a-z0-9_.-]*[a-z0-9])?|",
        'a placement\'s name, such as "spread" or "task-group"',
    ),
]
DomainAffinity = Literal["", "none", "best-effort", "required"]
Architecture = Annotated[
    str,
    Strict(),
    Field(max_length=63),
    TextPattern(
        r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?",
        'an architecture, such as "amd64", "arm64" or "x86_64"',
    ),
]
SettingValue = Annotated[bool | int | float | str, PlainValue()]
TomlText = Annotated[str, Strict(), Field(max_length=MAX_SCRIPT)]
SlotCores = Annotated[int, Strict(), Field(ge=1, le=MAX_CORES)]
SlotGpus = Annotated[int, Strict(), Field(ge=0, le=MAX_GPUS)]


class FluxContainer(Record):
    """The image that brings Flux (the "view") into pods whose own image has none."""

    disable: Flag = Field(False, description="The application's image brings Flux itself.")
    image: ShortText = Field(DEFAULT_FLUX_IMAGE, description="Image with a Flux view.", min_length=1)
    name: LabelName = Field("flux-view", description="Name of the container that brings the view.")
    mount_path: DirectoryPath = Field(
        "/mnt/flux", description="Directory in which the pods find Flux.", min_length=1
    )
    working_dir: DirectoryPath = Field("", description="Directory that the container runs in.")
    python_path: ShortText = Field(
        "", description="PYTHONPATH for Flux's own Python, directories joined by `:`."
    )
    pull_always: Flag = Field(False, description="Pull the image even where the node has it.")
    image_pull_secret: OptionalObjectName = Field("", description="Secret for pulling the image.")
    resources: ResourceRequirements = Field(
        default_factory=ResourceRequirements, description="CPU and memory, as requests and limits."
    )
    security_context: SecurityContext | None = Field(
        None, description="Kubernetes security settings of the container."
    )


class FluxScheduler(Record):
    """Which scheduler decides, and by which policy."""

    queue_policy: PolicyName = Field(
        "fcfs",
        description="Order in which jobs start: `fcfs`, `easy`, `conservative` or `hybrid` of Fluxion, "
        "or `minicluster/<name>` of ours. Without Fluxion a bare name means ours.",
    )
    simple: Flag = Field(False, description="Use Flux's simple scheduler (no GPUs) in place of Fluxion.")
    settings: Annotated[dict[SettingName, SettingValue], Field(max_length=64)] = Field(
        default_factory=dict, description="Settings of the policy: texts, numbers, true or false."
    )
    placement: PlacementName = Field(
        "",
        description="Which nodes and cores a job gets, as `minicluster placements` lists them; empty:"
        " `low-rank`. Under Fluxion its match policy decides.",
    )
    placement_settings: Annotated[dict[SettingName, SettingValue], Field(max_length=64)] = Field(
        default_factory=dict, description="Settings of the placement: texts, numbers, true or false."
    )
    affinity: DomainAffinity = Field(
        "",
        description="Whether a worker's cores are of one NUMA domain: `none` (tasks are not bound),"
        " `best-effort`, or `required` (else it waits); empty: as the placement has it.",
    )


class LeadBroker(Record):
    """The lead broker of another MiniCluster that this one joins."""

    address: ShortText = Field("", description="Host name or IP address of the lead broker.")
    name: OptionalLabelName = Field("", description="Name of its MiniCluster, from which hosts are named.")
    size: BrokerCount = Field(0, description="Number of brokers of its MiniCluster.")
    port: Port = Field(DEFAULT_PORT, description="Port of the lead broker.")


class BurstedCluster(Record):
    """Remote hosts that may join later: a slot, with a property and a queue of its own."""

    name: OptionalLabelName = Field(
        "",
        description="Prefix of the host names, name of their property and of their queue; absent, doubled,"
        " `default`, `burst` or `local`: `burst-<index>`.",
    )
    size: BrokerCount = Field(0, description="Number of hosts; 0 or absent: as many as `spec.size`.")
    cores: SlotCores | None = Field(
        None, description="Cores of each host; absent: as many as the MiniCluster's own hosts have."
    )
    gpus: SlotGpus | None = Field(
        None, description="GPUs of each host; absent: as many as the MiniCluster's own hosts have."
    )


class Bursting(Record):
    """Remote hosts, declared beforehand, that may join this instance."""

    lead_broker: LeadBroker = Field(
        default_factory=LeadBroker,
        description="Join this lead broker, in place of having one. All brokers need the same list of hosts.",
    )
    hostlist: Annotated[str, Strict(), Field(max_length=65_536)] = Field(
        "", description="All hosts, local ones included, as a Flux hostlist such as `mc-[0-3],node[7-9]`."
    )
    clusters: Annotated[tuple[BurstedCluster, ...], Field(max_length=64)] = Field(
        (), description="Remote clusters, in the order of their ranks. Not together with `hostlist`."
    )


class StateVolume(Record):
    """Where the lead broker keeps jobs and their output, to survive the loss of its pod."""

    claim_name: OptionalObjectName = Field("", description="A PersistentVolumeClaim that exists.")
    host_path: DirectoryPath = Field("", description="A directory of the node.")
    sub_path: Annotated[
        str,
        Strict(),
        Field(max_length=4_096),
        TextPattern(r"([^/\x00][^\x00]*)?", "a relative path, without / in front"),
    ] = Field("", description="Directory inside the volume, so that several MiniClusters can share it.")


class FluxSpec(Record):
    """Options of Flux, shared by all brokers."""

    container: FluxContainer = Field(
        default_factory=FluxContainer, description="The image that brings Flux into the pods."
    )
    option_flags: SingleLine = Field("", description="Options for `flux submit`, as one shell line.")
    submit_command: SingleLine = Field("", description="Shell line in place of `flux submit`.")
    wrap: SingleLine = Field(
        "", description="Program and options for `flux start --wrap`, separated by commas."
    )
    environment: Environment = Field(
        default_factory=dict, description="Variables exported before Flux starts."
    )
    connect_timeout: Duration = Field(
        "5s", description="How long a broker tries to reach its parent before it tries anew (Flux duration)."
    )
    log_level: Annotated[int, Strict(), Field(ge=0, le=7)] = Field(
        6, description="Log messages up to this syslog level: 0 emergency … 3 error … 6 info, 7 debug."
    )
    topology: Topology = Field(
        "", description="Shape of the tree of brokers: `kary:N`, `binomial` or `custom`."
    )
    minimal_service: Flag = Field(
        False, description="Name only the lead broker in DNS, by a ClusterIP, to spare large clusters' DNS."
    )
    complete_workers: Flag = Field(
        False, description="Followers end, and are not restarted, after a failure."
    )
    disable_socket: Flag = Field(False, description="Do not give the brokers a socket path of our choice.")
    no_wait_socket: Flag = Field(False, description="Sidecars do not wait for the broker's socket.")
    curve_cert: TomlText = Field(
        "", description="A CURVE certificate (the file's text) in place of a fresh one."
    )
    broker_config: TomlText = Field(
        "",
        description="Broker configuration (TOML), merged over the generated one, table by table. With a table"
        " [bootstrap] it is a whole one, in place of the generated one. Queues that it names are started.",
    )
    scheduler: FluxScheduler = Field(default_factory=FluxScheduler, description="Scheduler and policy.")
    bursting: Bursting = Field(default_factory=Bursting, description="Remote hosts that may join.")
    state_volume: StateVolume | None = Field(
        None, description="Volume that keeps the lead broker's jobs and output when its pod is lost."
    )
    munge_secret: OptionalObjectName = Field("", description="Secret with a munge key, mounted in every pod.")
    arch: Architecture = Field(
        "",
        description="Architecture of the Flux that is brought in: pods go to nodes of it (kubernetes.io/arch;"
        " x86_64 and aarch64 are understood).",
    )
