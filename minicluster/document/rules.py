"""The rules between fields: each is a function that yields the paths and messages of what breaks it.

A rule names the fields that it reads. If one of them was refused, or may have been misspelt, the rule is not
checked: it would report a problem of a document that no user wrote.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.document import formats, messages
from minicluster.document.bursting import FENCE_MARGIN
from minicluster.document.errors import BEYOND_PYTHON, described
from minicluster.document.modes import RUNNER_NAME, bursts_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.document.cluster import MiniCluster
    from minicluster.document.container import Container
    from minicluster.document.positions import Path

    Check = Callable[[MiniCluster], Iterator["Broken"]]

Broken = tuple["Path", str]
SPEC: Path = ("spec",)
# The most characters of a host name (RFC 1035).
MAX_HOST_NAME = 63


@dataclass(frozen=True, slots=True)
class Rule:
    """One named rule, the fields that it reads, and its check."""

    name: str
    fields: frozenset[str]
    check: Check

    def broken(self, cluster: MiniCluster) -> Iterator[Broken]:
        """Yield what breaks the rule, also that it could not be checked, with the fields that it reads.

        Raises MemoryError.
        """
        try:
            yield from self.check(cluster)
        except MemoryError:
            raise  # the other rules would have no more of it
        except BEYOND_PYTHON as error:
            fields = " or ".join(sorted(self.fields)) or "a field"
            yield SPEC, f"{fields} is too deep or too large to be checked ({described(error)})"


RULES: list[Rule] = []


def rule(*fields: str) -> Callable[[Check], Check]:
    """Register a check as a rule that reads these fields."""

    def register(check: Check) -> Check:
        RULES.append(Rule(check.__name__.replace("_", "-"), frozenset(fields), check))
        return check

    return register


def groups(cluster: MiniCluster) -> Iterator[tuple[Path, tuple[Container, ...]]]:
    """Yield the containers of each pod with their path."""
    yield (*SPEC, "containers"), cluster.spec.containers
    yield (*SPEC, "services"), cluster.spec.services


def each_container(cluster: MiniCluster) -> Iterator[tuple[Path, Container]]:
    """Yield every container with its path."""
    for path, containers in groups(cluster):
        for index, container in enumerate(containers):
            yield (*path, index), container


def _range(low: int, high: int) -> str:
    return f"allowed: {low} to {high}"


@rule("size", "suspend")
def size_at_least_one(cluster: MiniCluster) -> Iterator[Broken]:
    """Nothing runs on no broker; a suspended cluster may wait without any."""
    if cluster.spec.size == 0 and not cluster.spec.suspend:
        yield (*SPEC, "size"), messages.SIZE_ZERO


@rule("size", "minSize", "maxSize")
def sizes_in_order(cluster: MiniCluster) -> Iterator[Broken]:
    """The size is within minSize and maxSize, as far as they are given."""
    spec = cluster.spec
    if spec.max_size and spec.size > spec.max_size:
        yield (*SPEC, "size"), f"{messages.ABOVE_MAX_SIZE}: found {spec.size}, maxSize is {spec.max_size}"
    if spec.min_size and 0 < spec.size < spec.min_size:
        yield (*SPEC, "size"), f"{messages.BELOW_MIN_SIZE}: found {spec.size}, minSize is {spec.min_size}"


@rule("minSize", "maxSize")
def bounds_in_order(cluster: MiniCluster) -> Iterator[Broken]:
    """There is a size between the bounds, whatever it is now."""
    spec = cluster.spec
    if spec.max_size and spec.min_size > spec.max_size:
        found = f"found {spec.min_size}, maxSize is {spec.max_size}"
        yield (*SPEC, "minSize"), f"{messages.MIN_ABOVE_MAX}: {found}"


def _start_size(cluster: MiniCluster) -> int:
    """Return the greatest size for which Flux had hosts when it started; 0: it has not started."""
    cut = cluster.status.granularity
    return cluster.status.maximum_size // max(cut.brokers if cut is not None else 1, 1)


@rule("size", "maximumSize", "granularity")
def size_within_start(cluster: MiniCluster) -> Iterator[Broken]:
    """Flux cannot grow beyond the hosts that it knew when it started."""
    bound = _start_size(cluster)
    if bound and cluster.spec.size > bound:
        found = f"found {cluster.spec.size}, {_range(1, bound)}"
        yield (*SPEC, "size"), f"{messages.BEYOND_START}: {found}"


@rule("autoscaling", "minSize", "maxSize", "size", "maximumSize", "granularity")
def autoscaling_within_sizes(cluster: MiniCluster) -> Iterator[Broken]:
    """The autoscaler moves the size between minSize and maxSize."""
    spec, path = cluster.spec, (*SPEC, "autoscaling")
    wanted = spec.autoscaling
    if wanted is None:
        return
    # Without maxSize the size at start bounds growth, also after a shrink: not the size as it is now.
    greatest = _start_size(cluster) or spec.max_size or spec.size
    if 0 < wanted.min_size < spec.min_size:
        found = f"found {wanted.min_size}, minSize is {spec.min_size}"
        yield (*path, "minSize"), f"{messages.AUTOSCALING_MIN}: {found}"
    for name, value, message in (
        ("minSize", wanted.min_size, messages.AUTOSCALING_BEYOND),
        ("maxSize", wanted.max_size, messages.AUTOSCALING_MAX),
    ):
        if 0 < greatest < value:
            yield (*path, name), f"{message}: found {value}, allowed: up to {greatest}"
    if wanted.max_size and max(wanted.min_size, spec.min_size) > wanted.max_size:
        yield (*path, "minSize"), messages.AUTOSCALING_ORDER


@rule("metadata", "name", "size", "maxSize", "services")
def host_names_fit(cluster: MiniCluster) -> Iterator[Broken]:
    """`<name>-<index>` is a host name, and `<name>-services` a pod's."""
    spec, name, path = cluster.spec, cluster.metadata.name, ("metadata", "name")
    last = max(spec.max_size or spec.size, 1) - 1
    longest = f"{name}-{last}"
    if len(longest) > MAX_HOST_NAME:
        room = MAX_HOST_NAME - len(longest) + len(name)
        yield path, f"{messages.HOST_NAME_LENGTH}: found {len(name)} characters, allowed: {room}"
    elif spec.services and len(f"{name}-services") > MAX_HOST_NAME:
        room = MAX_HOST_NAME - len("-services")
        yield path, f"{messages.SERVICES_NAME_LENGTH}: found {len(name)} characters, allowed: {room}"


@rule("runFlux")
def one_container_runs_flux(cluster: MiniCluster) -> Iterator[Broken]:
    """Among several containers exactly one runs the broker."""
    containers = cluster.spec.containers
    runners = [index for index, container in enumerate(containers) if container.run_flux]
    if len(containers) == 1 or len(runners) == 1:
        return
    names = ", ".join(_called(containers, index) for index in runners or range(len(containers)))
    found = f"these say so: {names}" if runners else f"none of these does: {names}"
    yield (*SPEC, "containers"), f"{messages.ONE_RUNNER}; {found}"


def _called(containers: tuple[Container, ...], index: int) -> str:
    """Return a container's name, else its index, for messages."""
    return containers[index].name or f"containers[{index}]"


@rule("runFlux", "name")
def containers_have_names(cluster: MiniCluster) -> Iterator[Broken]:
    """Only the container that runs Flux may go without a name."""
    containers = cluster.spec.containers
    for index, container in enumerate(containers):
        if len(containers) > 1 and not container.name and not container.run_flux:
            yield (*SPEC, "containers", index), messages.NAME_NEEDED
    for index, container in enumerate(cluster.spec.services):
        if not container.name:
            yield (*SPEC, "services", index), messages.SERVICE_NAME_NEEDED


@rule("name")
def container_names_differ(cluster: MiniCluster) -> Iterator[Broken]:
    """Two containers of one pod cannot share a name."""
    for path, containers in groups(cluster):
        taken = _names_given(cluster) if path[-1] == "containers" else {}
        for index, container in enumerate(containers):
            if container.name in taken:
                found = f'"{container.name}" is already {taken[container.name]}'
                yield (*path, index, "name"), f"{messages.SAME_NAME}: {found}"
            elif container.name:
                taken[container.name] = f"the name of {'.'.join(map(str, path))}[{index}]"


def _names_given(cluster: MiniCluster) -> dict[str, str]:
    """Return the names in the broker's pod that are set by default, and their owners."""
    view, containers = cluster.spec.flux.container, cluster.spec.containers
    taken = {} if view.disable else {view.name: "the name of spec.flux.container"}
    for index, container in enumerate(containers):
        if container.run_flux and not container.name:
            taken[RUNNER_NAME] = f"the name of spec.containers[{index}], which has none of its own"
    return taken


@rule("name", "runFlux", "disable")
def view_is_not_called_like_the_runner(cluster: MiniCluster) -> Iterator[Broken]:
    """The runner has a default name, which no other container may have."""
    view, containers = cluster.spec.flux.container, cluster.spec.containers
    unnamed = any(not each.name and (each.run_flux or len(containers) == 1) for each in containers)
    if unnamed and not view.disable and view.name == RUNNER_NAME:
        found = f'"{RUNNER_NAME}" is already the name of the container that runs Flux'
        yield (*SPEC, "flux", "container", "name"), f"{messages.SAME_NAME}: {found}"


@rule("launcher", "batch")
def launcher_or_batch(cluster: MiniCluster) -> Iterator[Broken]:
    """A launcher submits its own jobs; a batch is submitted line by line."""
    for path, container in each_container(cluster):
        if container.launcher and container.batch:
            yield (*path, "batch"), messages.LAUNCHER_AND_BATCH


@rule("runFlux", "script", "command", "commands")
def script_or_command(cluster: MiniCluster) -> Iterator[Broken]:
    """A script replaces the command."""
    containers = cluster.spec.containers
    for index, container in enumerate(containers):
        runs_flux = container.run_flux or len(containers) == 1
        if runs_flux and container.command and container.commands.script:
            yield (*SPEC, "containers", index, "commands", "script"), messages.SCRIPT_AND_COMMAND


@rule()
def services_have_no_broker_hooks(cluster: MiniCluster) -> Iterator[Broken]:
    """No broker runs in the services pod."""
    for index, container in enumerate(cluster.spec.services):
        hooks = container.commands
        for name, text in (
            ("pre", hooks.pre),
            ("brokerPre", hooks.broker_pre),
            ("workerPre", hooks.worker_pre),
        ):
            if text:
                yield (*SPEC, "services", index, "commands", name), messages.SERVICE_HOOKS


@rule("ports")
def ports_differ(cluster: MiniCluster) -> Iterator[Broken]:
    """A container has each port once."""
    for path, container in each_container(cluster):
        for port, count in Counter(container.ports).items():
            if count > 1:
                last = len(container.ports) - 1 - container.ports[::-1].index(port)
                yield (*path, "ports", last), f"{messages.SAME_PORT}: {port}"


@rule("environment", "secrets")
def variables_given_once(cluster: MiniCluster) -> Iterator[Broken]:
    """A variable has one value."""
    for path, container in each_container(cluster):
        for name in container.secrets:
            if name in container.environment:
                yield (*path, "secrets", name), messages.VARIABLE_TWICE


@rule("disableAffinity", "onePerNode")
def affinity_not_contradictory(cluster: MiniCluster) -> Iterator[Broken]:
    """One pod a node cannot be required and switched off."""
    network = cluster.spec.network
    if network.disable_affinity and network.one_per_node == "Required":
        yield (*SPEC, "network", "disableAffinity"), messages.AFFINITY


@rule("granularity", "profile")
def granularity_has_a_profile(cluster: MiniCluster) -> Iterator[Broken]:
    """Without one every rule would leave the brokers as they are."""
    spec = cluster.spec
    if spec.granularity not in {None, "none"} and spec.profile is None:
        yield (*SPEC, "granularity"), messages.GRANULARITY_PROFILE


@rule("hostlist", "clusters")
def hostlist_or_clusters(cluster: MiniCluster) -> Iterator[Broken]:
    """Each of the two lists the remote hosts."""
    bursting = cluster.spec.flux.bursting
    if bursting.hostlist and bursting.clusters:
        yield (*SPEC, "flux", "bursting", "hostlist"), messages.HOSTLIST_AND_CLUSTERS


@rule("address", "name", "size", "leadBroker")
def lead_broker_complete(cluster: MiniCluster) -> Iterator[Broken]:
    """The hosts of the other MiniCluster are named from its name and size."""
    lead = cluster.spec.flux.bursting.lead_broker
    given = (bool(lead.address), bool(lead.name), bool(lead.size))
    if any(given) and not all(given):
        yield (*SPEC, "flux", "bursting", "leadBroker"), messages.LEAD_BROKER


@rule("bursting", "join", "clusters", "hostlist")
def bursting_has_hosts(cluster: MiniCluster) -> Iterator[Broken]:
    """A burst that joins has hosts that Flux knows of from its start."""
    known, policy = cluster.spec.flux.bursting, cluster.spec.bursting
    if policy and policy.join and not known.clusters and not known.hostlist:
        yield (*SPEC, "bursting"), messages.BURSTING_HOSTS


@rule("bursting", "leadBroker", "address")
def bursting_or_lead_broker(cluster: MiniCluster) -> Iterator[Broken]:
    """Followers of another lead have neither a queue nor hosts of bursts."""
    if cluster.spec.bursting and bursts_out(cluster.spec):
        yield (*SPEC, "bursting"), messages.BURSTING_AND_LEAD


@rule("fenceSeconds", "lostAfterSeconds")
def lost_after_the_fence(cluster: MiniCluster) -> Iterator[Broken]:
    """No job runs on both sides of a broken link."""
    policy = cluster.spec.bursting
    if policy and policy.lost_after_seconds < policy.fence_seconds + FENCE_MARGIN:
        found = f"found {policy.lost_after_seconds}, fenceSeconds is {policy.fence_seconds}"
        yield (*SPEC, "bursting", "lostAfterSeconds"), f"{messages.LOST_BEFORE_FENCE}: {found}"


def _format_rules() -> None:
    """Register the checks of texts that have a format of their own."""
    rule("hostlist")(formats.hostlist_problems)
    rule("curveCert")(formats.certificate_problems)
    rule("brokerConfig")(formats.toml_problems)
    rule("sourceRanges")(formats.source_range_problems)
    rule("queuePolicy")(formats.policy_problems)
    rule("placement", "placementSettings", "affinity")(formats.placement_problems)


_format_rules()
