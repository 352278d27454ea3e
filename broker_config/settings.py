"""The settings of one MiniCluster's brokers: the only input of every function in this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from broker_config import burst_slots, own_toml, tree
from broker_config.burst_slots import HostSlot
from broker_config.errors import SettingsError
from broker_config.formats import host_ranges as ranges
from broker_config.formats import hostlist
from broker_config.scheduler_settings import SchedulerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_config.formats.host_ranges import HostRange

DEFAULT_PORT = 8050


class RunMode(Enum):
    """How the lead runs the MiniCluster's command."""

    PLAIN = "plain"  # flux submit … --watch
    LAUNCHER = "launcher"  # the command itself submits
    BATCH = "batch"  # each line a job, or (batch_raw) the lines are one script
    INTERACTIVE = "interactive"  # no program: the instance stays up


@dataclass(frozen=True, slots=True)
class Command:
    """The main command: a POSIX shell line, or an argument list passed on unchanged (never both)."""

    line: str = ""
    """Expanded once, in the lead's pod. With RunMode.BATCH each of its non-empty lines is a job."""
    args: tuple[str, ...] = ()
    """Words of any bytes but NUL, as from os.fsdecode."""

    def __bool__(self) -> bool:
        return bool(self.line.strip() or self.args)


@dataclass(frozen=True, slots=True)
class Submit:
    """How jobs are made from the command (`spec.tasks`, `spec.flux.*`)."""

    tasks: int = 1
    option_flags: str = ""
    """Shell words, added to `flux submit` (or `flux batch`)."""
    command: str = ""
    """Shell words instead of `flux submit`."""
    label_output: bool = False
    """Whether each line of output carries its task's rank."""
    profile: str = ""
    """What the main job's tasks use most, such as "memory"; empty: unknown."""
    passes_input: bool = False
    """Whether tasks get the lead's standard input; else one that reads waits for somebody who attaches."""


@dataclass(frozen=True, slots=True)
class HookScripts:
    """`containers[].commands`: shell text run in the pod, in the script's own shell."""

    init: str = ""
    pre: str = ""
    broker_pre: str = ""
    worker_pre: str = ""
    service_pre: str = ""
    post: str = ""
    prefix: str = ""
    """Words before the lead's submit command."""
    script: str = ""
    """A whole script instead of the command."""


@dataclass(frozen=True, slots=True)
class LoggingSettings:
    """`spec.logging` and `flux.logLevel`."""

    quiet: bool = False
    """Whether only the main command's own output is shown."""
    strict: bool = False
    """Whether any failing line of a hook ends the broker."""
    debug: bool = False
    """Whether Flux prints more messages."""
    zeromq: bool = False
    """Whether Flux reports about the brokers' connections."""
    timed: bool = False
    """Whether the times of Flux's commands are shown."""
    level: int = 6
    """The syslog level up to which Flux logs: 0 emergency … 6 info, 7 debug."""


@dataclass(frozen=True, slots=True)
class LeadBrokerSettings:
    """The lead broker of another MiniCluster, which this one joins (`flux.bursting.leadBroker`)."""

    address: str
    """Its host name or IP address."""
    name: str
    """Its MiniCluster's: followers there are `<name>-1` and so on."""
    size: int
    """How many brokers it has, the lead counted."""
    port: int = DEFAULT_PORT


@dataclass(frozen=True, slots=True)
class BurstCluster:
    """A remote MiniCluster whose brokers may join later: hosts `<name>-[0-<size-1>]`."""

    name: str
    """One that `burst_slots.usable_names` leaves as it is."""
    size: int
    cores: int | None = None
    """Of each host; None: as many as this MiniCluster's own."""
    gpus: int | None = None
    """Of each host; None: as many as this MiniCluster's own."""


@dataclass(frozen=True, slots=True)
class BurstingSettings:
    """`flux.bursting`: hosts declared before they exist."""

    lead: LeadBrokerSettings | None = None
    hostlist: str = ""
    """All hosts (RFC 29), which replaces the others."""
    clusters: tuple[BurstCluster, ...] = ()
    managed: bool = False
    """Whether a service makes bursts, and jobs that ask for one are routed to them at submission."""
    gives_certificate: bool = False
    """Whether that service gets the CURVE certificate from the lead API, by which its brokers join."""
    isolated: bool = False
    """Whether jobs run in instances of their own elsewhere, and others, without resources, stand in here."""

    @property
    def joins(self) -> bool:
        """Whether brokers from elsewhere join this instance, or these join one elsewhere."""
        return bool(self.lead or self.hostlist or self.clusters)


@dataclass(frozen=True, slots=True)
class BrokerEndpoint:
    """The ZeroMQ URIs of a host's broker."""

    host: str
    bind: str
    """At which it listens."""
    connect: str
    """At which others reach it."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How brokers find each other: through a Service's DNS names, or at explicit endpoints."""

    service: str = ""
    namespace: str = "default"
    domain: str = "cluster.local"
    port: int = DEFAULT_PORT
    minimal: bool = False
    """Whether only the lead has a name, the Service's own."""
    endpoints: tuple[BrokerEndpoint, ...] | None = None
    """If set, only these are used."""

    @property
    def suffix(self) -> str:
        """The part of a host's DNS name after the host's name."""
        return f"{self.service}.{self.namespace}.svc.{self.domain}"


@dataclass(frozen=True, slots=True)
class FluxView:
    """Flux in the pod from another image."""

    mount_path: str = "/mnt/flux"
    python_path: str = ""
    disable: bool = False
    """Whether the container has its own Flux."""


@dataclass(frozen=True, slots=True)
class NodeResources:
    """The resources of one broker."""

    cores: int | None = 1
    """None: what the broker may use at run time, by its CPU affinity and its cgroup's quota."""
    gpus: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    """Ranks by property (RFC 20), as an idset."""


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """The path from which the instance is restored at start, and to which it is saved (`archive.path`)."""

    path: str = ""
    drain_timeout: int = 60
    """Seconds that running jobs have before a save."""


@dataclass(frozen=True, slots=True)
class LeadApiSettings:
    """The lead API, which the lead broker serves by HTTPS."""

    port: int = 8443
    directory: str = "/etc/minicluster-curve"
    """Where its certificate, key and tokens are."""
    min_size: int = 1
    """The least size to which the MiniCluster may be scaled: the metrics demand no less."""
    metrics_tls: str = ""
    """The directory with the document's certificate for readers of metrics; empty: it has none."""
    tokens: str = ""
    """The directory with the tokens for single purposes; empty: there is none."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Everything from which broker.toml, R, the certificate's path and the start script are rendered."""

    name: str
    size: int = 1
    """How many brokers are started."""
    max_size: int | None = None
    """How many brokers Flux is configured for; None: size."""
    quorum: int | None = None
    """How many brokers must have joined before the command runs; None: size."""
    mode: RunMode = RunMode.PLAIN
    command: Command = Command()
    batch_raw: bool = False
    """With RunMode.BATCH: the command's lines are one script."""
    logs: str = ""
    """A directory for the output of batch jobs; empty: shown when they have ended."""
    submit: Submit = Submit()
    wrap: str = ""
    """Comma-separated words before the broker's own command line."""
    environment: Mapping[str, str] = field(default_factory=dict)
    hooks: HookScripts = HookScripts()
    logging: LoggingSettings = LoggingSettings()
    connect_timeout: str = "5s"
    """How long a broker tries to reach its parent before it tries anew (Flux duration)."""
    topology: str = ""
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    bursting: BurstingSettings = BurstingSettings()
    network: NetworkSettings = NetworkSettings()
    node: NodeResources = NodeResources()
    archive: ArchiveSettings = ArchiveSettings()
    keeps_state: bool = False
    """Whether the lead's state directory survives its broker, also if that is killed."""
    view: FluxView = FluxView()
    complete_workers: bool = False
    """Whether a follower whose broker ended is not started again."""
    disable_socket: bool = False
    """Whether brokers get no socket path of our choice."""
    curve_path: str = "/run/minicluster/curve.cert"
    config_dir: str = "/etc/minicluster"
    broker_toml: str = ""
    """Replaces the rendered broker.toml where it has a table [bootstrap]; else it is merged over it."""
    lead_api: LeadApiSettings | None = None
    """None on a local machine."""

    @property
    def run_mode(self) -> RunMode:
        """The mode in effect: without a command (or script) an instance is interactive."""
        return self.mode if self.command or self.hooks.script else RunMode.INTERACTIVE

    @property
    def resources_path(self) -> str:
        """The path of R: the rendered one, or that of the start script, with the cores that it found."""
        if self.node.cores is not None:
            return f"{self.config_dir}/R"
        return f"{self.curve_path.rpartition('/')[0]}/R"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of all hosts that Flux is configured for, in the order of ranks; see `host_ranges`."""
        return tuple(name for each in self.host_ranges for name in each.names())

    @property
    def host_ranges(self) -> tuple[HostRange, ...]:
        """All hosts that Flux is configured for, in the order of ranks.

        Raises SettingsError for more than `hostlist.MAX_HOSTS`, and HostlistError for what is no host's name.
        """
        if self.bursting.hostlist:
            return listed_hosts(self.bursting.hostlist)
        count = self._own_size + sum(each.size for each in self.bursting.clusters)
        if count > hostlist.MAX_HOSTS:
            raise SettingsError(f"{count} hosts, remote ones included; allowed are {hostlist.MAX_HOSTS}")
        burst = (host for each in self.bursting.clusters for host in _numbered(each.name, each.size))
        return (*self._own_hosts, *burst)

    @property
    def tree(self) -> str:
        """How brokers are connected (tbon.topo), empty: as by default.

        Where brokers come from elsewhere, all connect to the lead, which they can reach, unless it is set.
        """
        hosts = ranges.total(self.host_ranges)
        if self.topology or not self.bursting.joins or tree.is_flat("", hosts):
            return self.topology
        return tree.flat(hosts)

    @property
    def slots(self) -> tuple[HostSlot, ...]:
        """The slots that are declared, in the order of ranks, here or at the lead broker that is joined.

        There are none where the user's own broker.toml is a whole one, which has its own list of hosts.
        Raises BrokerTomlError for a text that is none, and HostlistError for a list that is none.
        """
        if own_toml.own(self.broker_toml).is_whole:
            return ()
        if self.bursting.hostlist:
            return burst_slots.of_hostlist(self._own_hosts, listed_hosts(self.bursting.hostlist))
        clusters = self.bursting.clusters
        ends = accumulate((each.size for each in clusters), initial=self._own_size)
        return tuple(
            HostSlot(each.name, first, each.size, each.cores, each.gpus, f"{each.name}-")
            for first, each in zip(ends, clusters, strict=False)
        )

    @property
    def _own_size(self) -> int:
        lead = self.bursting.lead
        return (self.max_size or self.size) if lead is None else lead.size

    @property
    def _own_hosts(self) -> Iterator[HostRange]:
        """The hosts of the MiniCluster that has the lead broker."""
        lead = self.bursting.lead
        return _numbered(self.name if lead is None else lead.name, self._own_size)


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """One sidecar (in the broker's pod) or one service container (in the services pod)."""

    command: str = ""
    hooks: HookScripts = HookScripts()
    logging: LoggingSettings = LoggingSettings()
    environment: Mapping[str, str] = field(default_factory=dict)
    view: FluxView = FluxView()
    wait_socket: bool = True  # false in the services pod, and with flux.noWaitSocket
    stays: bool = False
    """Whether the script waits for its pod's end after a command that ended with 0; true beside a broker.

    Kubernetes restarts a sidecar after every exit code. A command that failed is to be restarted.
    """


# broker.toml and R are made of the same list.
@lru_cache(maxsize=2)
def listed_hosts(text: str) -> tuple[HostRange, ...]:
    """Return the hosts of a hostlist. Raises HostlistError."""
    return tuple(hostlist.ranges(text))


def _numbered(name: str, size: int) -> Iterator[HostRange]:
    return hostlist.numbered(f"{name}-", range(size))
