"""The resources that the broker of a rank schedules: cores and GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minicluster.document.quantities import quantity

if TYPE_CHECKING:
    from minicluster.document.resources import ResourceRequirements


def cores(resources: ResourceRequirements, otherwise: int | None) -> int | None:
    """Return a rank's cores: whole CPUs of the limit, at least 1, else of the request, else `otherwise`.

    None: the broker counts the cores that it may use where it runs.
    """
    asked = resources.limits.get("cpu", resources.requests.get("cpu"))
    return otherwise if asked is None else max(1, math.floor(quantity(asked)))


def gpus(resources: ResourceRequirements) -> int:
    """Return a rank's GPUs: the limits of extended resources that are GPUs, or slices of one."""
    return sum(math.floor(quantity(resources.limits[name])) for name in gpu_names(resources))


def gpu_names(resources: ResourceRequirements) -> tuple[str, ...]:
    """Return the names of limits that count as GPUs."""
    return tuple(name for name in resources.limits if _is_gpu(name))


def nameless_gpus(resources: ResourceRequirements) -> tuple[str, ...]:
    """Return the names that are meant for GPUs and count for nothing: before a slash they lack the vendor."""
    names = dict.fromkeys((*resources.limits, *resources.requests))
    return tuple(name for name in names if name.lower().startswith("gpu") and "/" not in name)


def _is_gpu(resource: str) -> bool:
    vendor, _, device = resource.partition("/")
    # gpu.intel.com/i915_monitoring is no device: it only monitors them.
    intel = vendor == "gpu.intel.com" and not device.endswith("_monitoring")
    return device in {"gpu", "gpu.shared"} or device.startswith("mig-") or intel
