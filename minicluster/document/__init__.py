"""The MiniCluster document: records, validation, and the CRD generated from them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minicluster.document.autoscaling import Autoscaling, Behavior
    from minicluster.document.bursting import BurstBudget, BurstPolicy, BurstSelector, BurstStatus
    from minicluster.document.cluster import (
        Archive,
        Logging,
        Metadata,
        MiniCluster,
        MiniClusterSpec,
        Network,
    )
    from minicluster.document.container import (
        DEFAULT_LOGS,
        Commands,
        Container,
        LifeCycle,
        SecretReference,
        Volume,
    )
    from minicluster.document.definition import crd, crd_yaml
    from minicluster.document.errors import DocumentError, Problem, SpecError
    from minicluster.document.flux import (
        BurstedCluster,
        Bursting,
        FluxContainer,
        FluxScheduler,
        FluxSpec,
        LeadBroker,
        StateVolume,
    )
    from minicluster.document.granularity import GranularityName, GranularityStatus, ProfileName
    from minicluster.document.loading import Documents, Skipped, dump, load, parse, read, validate
    from minicluster.document.modes import (
        RunMode,
        bursted_clusters,
        bursts_out,
        container_name,
        headless_name,
        is_empty_dir,
        is_interactive,
        max_size,
        min_size,
        mount_path,
        quorum,
        run_mode,
        runner,
        runner_index,
        sidecars,
        sources,
    )
    from minicluster.document.names import API_VERSION, GROUP, KIND, VERSION
    from minicluster.document.pod import PodSpec, Toleration, TopologySpreadConstraint
    from minicluster.document.quantities import quantity
    from minicluster.document.resources import ResourceRequirements
    from minicluster.document.security import PodSecurityContext, SecurityContext
    from minicluster.document.status import (
        MAX_NAMED_JOBS,
        Condition,
        LastDump,
        LeadLoss,
        NodeLoss,
        PlanningStatus,
        ResizeStatus,
        RestartedJob,
        SaveStatus,
        Status,
    )

__all__ = [
    "API_VERSION",
    "DEFAULT_LOGS",
    "GROUP",
    "KIND",
    "MAX_NAMED_JOBS",
    "VERSION",
    "Archive",
    "Autoscaling",
    "Behavior",
    "BurstBudget",
    "BurstPolicy",
    "BurstSelector",
    "BurstStatus",
    "BurstedCluster",
    "Bursting",
    "Commands",
    "Condition",
    "Container",
    "DocumentError",
    "Documents",
    "FluxContainer",
    "FluxScheduler",
    "FluxSpec",
    "GranularityName",
    "GranularityStatus",
    "LastDump",
    "LeadBroker",
    "LeadLoss",
    "LifeCycle",
    "Logging",
    "Metadata",
    "MiniCluster",
    "MiniClusterSpec",
    "Network",
    "NodeLoss",
    "PlanningStatus",
    "PodSecurityContext",
    "PodSpec",
    "Problem",
    "ProfileName",
    "ResizeStatus",
    "ResourceRequirements",
    "RestartedJob",
    "RunMode",
    "SaveStatus",
    "SecretReference",
    "SecurityContext",
    "Skipped",
    "SpecError",
    "StateVolume",
    "Status",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "bursted_clusters",
    "bursts_out",
    "container_name",
    "crd",
    "crd_yaml",
    "dump",
    "headless_name",
    "is_empty_dir",
    "is_interactive",
    "load",
    "max_size",
    "min_size",
    "mount_path",
    "parse",
    "quantity",
    "quorum",
    "read",
    "run_mode",
    "runner",
    "runner_index",
    "sidecars",
    "sources",
    "validate",
]
_HOMES = {
    "autoscaling": ("Autoscaling", "Behavior"),
    "bursting": ("BurstBudget", "BurstPolicy", "BurstSelector", "BurstStatus"),
    "cluster": ("Archive", "Logging", "Metadata", "MiniCluster", "MiniClusterSpec", "Network"),
    "container": ("Commands", "Container", "DEFAULT_LOGS", "LifeCycle", "SecretReference", "Volume"),
    "definition": ("crd", "crd_yaml"),
    "errors": ("DocumentError", "Problem", "SpecError"),
    "flux": (
        "BurstedCluster",
        "Bursting",
        "FluxContainer",
        "FluxScheduler",
        "FluxSpec",
        "LeadBroker",
        "StateVolume",
    ),
    "granularity": ("GranularityName", "GranularityStatus", "ProfileName"),
    "loading": ("Documents", "Skipped", "dump", "load", "parse", "read", "validate"),
    "modes": (
        "RunMode",
        "bursted_clusters",
        "bursts_out",
        "container_name",
        "headless_name",
        "is_empty_dir",
        "is_interactive",
        "max_size",
        "min_size",
        "mount_path",
        "quorum",
        "run_mode",
        "runner",
        "runner_index",
        "sidecars",
        "sources",
    ),
    "names": ("API_VERSION", "GROUP", "KIND", "VERSION"),
    "pod": ("PodSpec", "Toleration", "TopologySpreadConstraint"),
    "quantities": ("quantity",),
    "resources": ("ResourceRequirements",),
    "security": ("PodSecurityContext", "SecurityContext"),
    "status": (
        "Condition",
        "LastDump",
        "LeadLoss",
        "MAX_NAMED_JOBS",
        "NodeLoss",
        "PlanningStatus",
        "ResizeStatus",
        "RestartedJob",
        "SaveStatus",
        "Status",
    ),
}


if not TYPE_CHECKING:  # which knows the names, and no others

    def __getattr__(name: str) -> Any:
        """Import a name at its first use: a command that reads no document needs few of them."""
        for home, names in _HOMES.items():
            if name in names:
                found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
