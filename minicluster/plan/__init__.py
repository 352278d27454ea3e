"""From a MiniCluster document, and what exists, to everything that a reconcile does. Pure: no I/O, no clock.

`plan()` decides, `render()` shows the objects, and each kind of object has one module that builds it. Nothing
here sends requests: the operator and the local run fill an `Observed`, and apply a `Plan`.
"""

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
