"""From a MiniCluster document, and what exists, to everything that a reconcile does. Pure: no I/O, no clock.

`plan()` decides, `render()` shows the objects, and each kind of object has one module that builds it. Nothing
here sends requests: the operator and the local run fill an `Observed`, and apply a `Plan`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.plan.decision import over_limit, plan, refuse
    from minicluster.plan.errors import KeysNeededError, PlanError, UnplannableError
    from minicluster.plan.objects.keys import FreshKeys, LeadKeys, lead_dns_name
    from minicluster.plan.objects.names import lead_hosts
    from minicluster.plan.objects.objects import build, secret_key, unwanted
    from minicluster.plan.objects.rendering import problem, render, to_yaml
    from minicluster.plan.objects.settings import broker_settings
    from minicluster.plan.records import (
        ApplyRefusal,
        BrokerReport,
        Disruption,
        Dump,
        JobCondition,
        JobReport,
        KubernetesEvent,
        LeadCommand,
        LeadVersions,
        NodeReport,
        NodeTaint,
        ObjectKey,
        Observed,
        ObservedObject,
        Plan,
        PodReport,
        RestartReport,
        SaveProgress,
        Site,
    )
    from minicluster.plan.status import planning_limits

__all__ = [
    "ApplyRefusal",
    "BrokerReport",
    "Disruption",
    "Dump",
    "FreshKeys",
    "JobCondition",
    "JobReport",
    "KeysNeededError",
    "KubernetesEvent",
    "LeadCommand",
    "LeadKeys",
    "LeadVersions",
    "NodeReport",
    "NodeTaint",
    "ObjectKey",
    "Observed",
    "ObservedObject",
    "Plan",
    "PlanError",
    "PodReport",
    "RestartReport",
    "SaveProgress",
    "Site",
    "UnplannableError",
    "broker_settings",
    "build",
    "lead_dns_name",
    "lead_hosts",
    "over_limit",
    "plan",
    "planning_limits",
    "problem",
    "refuse",
    "render",
    "secret_key",
    "to_yaml",
    "unwanted",
]
_HOMES = {
    "decision": ("over_limit", "plan", "refuse"),
    "errors": ("KeysNeededError", "PlanError", "UnplannableError"),
    "objects.keys": ("FreshKeys", "LeadKeys", "lead_dns_name"),
    "objects.names": ("lead_hosts",),
    "objects.objects": ("build", "secret_key", "unwanted"),
    "objects.rendering": ("problem", "render", "to_yaml"),
    "objects.settings": ("broker_settings",),
    "records": (
        "ApplyRefusal",
        "BrokerReport",
        "Disruption",
        "Dump",
        "JobCondition",
        "JobReport",
        "KubernetesEvent",
        "LeadCommand",
        "LeadVersions",
        "NodeReport",
        "NodeTaint",
        "ObjectKey",
        "Observed",
        "ObservedObject",
        "Plan",
        "PodReport",
        "RestartReport",
        "SaveProgress",
        "Site",
    ),
    "status": ("planning_limits",),
}


if not TYPE_CHECKING:  # which knows the names, and no others

    def __getattr__(name: str) -> Any:
        """Import a name at its first use: a client needs names and records, and makes no plan."""
        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
