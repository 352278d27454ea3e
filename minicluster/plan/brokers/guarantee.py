"""Whether broker pods get cores of their own, and what of that can be set without asking.

A kubelet with `cpuManagerPolicy: static` gives a container exclusive cores where its pod is Guaranteed, and
its own CPU is a whole number. A pod is Guaranteed where every container of it, init containers and sidecars
too, has limits for CPU and memory, and requests equal to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.document import ResourceRequirements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.document import MiniCluster
    from minicluster.plan.records import Site

NEEDED = ("cpu", "memory")
NOTHING = ResourceRequirements()


def completed(
    resources: ResourceRequirements, *, otherwise: ResourceRequirements = NOTHING
) -> ResourceRequirements:
    """Return the resources with what is missing: requests from limits, a limit of CPU from its request.

    A limit of memory is not made of its request: a container that needs more would be killed. What neither
    says is taken from `otherwise`. No amount that is there is changed.
    """
    limits, requests = dict(resources.limits), dict(resources.requests)
    for name in NEEDED:
        if name in limits or (name in requests and name != "cpu"):
            continue
        found = requests.get(name) or otherwise.limits.get(name)
        if found is not None:
            limits[name] = found
    for name in NEEDED:
        if name in limits:
            requests.setdefault(name, limits[name])
    return resources.model_copy(update={"limits": limits, "requests": requests})


def obstacles(cluster: MiniCluster, site: Site) -> tuple[str, ...]:
    """Return what keeps the broker pods from exclusive cores, each with its container; none: nothing does.

    `cluster` is the document after the cut.
    """
    return tuple(_obstacles(cluster, site))


def _obstacles(cluster: MiniCluster, site: Site) -> Iterator[str]:
    spec = cluster.spec
    for index, container in enumerate(spec.containers):
        name = document.container_name(spec, index)
        yield from _unequal(name, container.resources)
        cores = container.resources.limits.get("cpu")
        if index == document.runner_index(spec) and cores and document.quantity(cores).denominator != 1:
            yield f"container {name} has {cores} of CPU, which is no whole number"
    view = spec.flux.container
    if not view.disable and not site.image_volumes:
        yield from _unequal(view.name, view.resources)


def _unequal(container: str, resources: ResourceRequirements) -> Iterator[str]:
    """Yield for which of its resources a container has no limit, or another request."""
    limits, requests = resources.limits, resources.requests
    missing = [name for name in NEEDED if not _is_positive(limits, name)]
    if missing:
        yield f"container {container} has no limit of {' and '.join(missing)}"
    for name in NEEDED:
        if name in missing or name not in requests:
            continue  # Kubernetes takes the limit as the request where there is none
        if document.quantity(requests[name]) != document.quantity(limits[name]):
            yield (f"container {container} requests {requests[name]} of {name}, its limit is {limits[name]}")


def _is_positive(limits: Mapping[str, str], name: str) -> bool:
    return name in limits and document.quantity(limits[name]) > 0
