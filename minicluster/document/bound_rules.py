"""The rules about how much a document asks for (hosts, cores, GPUs), and about commands.

They count, and expand nothing. Their bounds are in `bounds`; hostlists and TOML are checked in `formats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config import shell
from broker_config.errors import BrokerConfigError
from minicluster.document import messages, rank_resources
from minicluster.document.bounds import MAX_CORES, MAX_GPUS, MAX_HOSTS
from minicluster.document.modes import RunMode, bursted_clusters, bursts_out, max_size, run_mode, runner_index
from minicluster.document.pod_rules import RULES
from minicluster.document.quantities import quantity
from minicluster.document.rules import SPEC, Broken, each_container, rule

__all__ = ["RULES"]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.document.cluster import MiniCluster
    from minicluster.document.positions import Path


@rule("size", "maxSize", "maximumSize", "clusters", "leadBroker")
def hosts_within_bound(cluster: MiniCluster) -> Iterator[Broken]:
    """Flux gets the names of all hosts at start, also those of remote clusters."""
    bursting = cluster.spec.flux.bursting
    local = bursting.lead_broker.size if bursts_out(cluster.spec) else max_size(cluster)
    remote = sum(each.size for each in bursted_clusters(cluster))
    if local + remote > MAX_HOSTS:
        found = f"found {local + remote}, of which {remote} are remote"
        yield (*SPEC, "flux", "bursting", "clusters"), f"{messages.TOO_MANY_HOSTS}: {found}"


@rule("resources", "limits", "requests")
def cores_within_bound(cluster: MiniCluster) -> Iterator[Broken]:
    """R lists every core of a rank."""
    for path, container in each_container(cluster):
        resources = container.resources
        for kind, amounts in (("limits", resources.limits), ("requests", resources.requests)):
            if "cpu" in amounts and quantity(amounts["cpu"]) > MAX_CORES:
                found = f"found {amounts['cpu']}"
                yield (*path, "resources", kind, "cpu"), f"{messages.TOO_MANY_CORES}: {found}"


@rule("resources", "limits")
def gpus_within_bound(cluster: MiniCluster) -> Iterator[Broken]:
    """R lists every GPU of a rank."""
    for path, container in each_container(cluster):
        limits = container.resources.limits
        if rank_resources.gpus(container.resources) > MAX_GPUS:
            names = rank_resources.gpu_names(container.resources)
            found = ", ".join(f"{limits[name]} of {name}" for name in names)
            yield (*path, "resources", "limits"), f"{messages.TOO_MANY_GPUS}: found {found}"


@rule("command", "prefix", "optionFlags", "submitCommand")
def commands_not_too_deep(cluster: MiniCluster) -> Iterator[Broken]:
    """The start script parses a line to see whether it is one plain command."""
    for path, text in _commands(cluster):
        try:
            shell.check_nesting(text)
        except BrokerConfigError as error:
            yield path, str(error)


@rule("command", "commands", "script", "interactive", "launcher", "batch", "runFlux")
def commands_close_their_quotes(cluster: MiniCluster) -> Iterator[Broken]:
    """Of a batch the other lines would run, and a script has another interpreter perhaps."""
    spec = cluster.spec
    if len(spec.containers) > 1 and sum(each.run_flux for each in spec.containers) != 1:
        return
    index = runner_index(spec)
    container = spec.containers[index]
    if container.commands.script or run_mode(spec) not in {RunMode.PLAIN, RunMode.LAUNCHER}:
        return
    if found := shell.open_quote(container.command):
        yield (*SPEC, "containers", index, "command"), f"{messages.OPEN_QUOTE}: found {found}"


def _commands(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield the shell lines that are parsed, each with its path: no sidecar's or service's is."""
    spec = cluster.spec
    for index, container in enumerate(spec.containers):
        if container.run_flux or len(spec.containers) == 1:
            path = (*SPEC, "containers", index)
            yield (*path, "command"), container.command
            yield (*path, "commands", "prefix"), container.commands.prefix
    yield (*SPEC, "flux", "optionFlags"), spec.flux.option_flags
    yield (*SPEC, "flux", "submitCommand"), spec.flux.submit_command
