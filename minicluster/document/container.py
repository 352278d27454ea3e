"""A container: the one that runs Flux, sidecars beside it, and services in a pod of their own."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from minicluster.document.record import Record
from minicluster.document.resources import ResourceRequirements
from minicluster.document.scalars import (
    MAX_ENTRIES,
    DirectoryPath,
    Flag,
    LabelName,
    ObjectName,
    OptionalLabelName,
    OptionalObjectName,
    Port,
    Quantity,
    Script,
    ShortText,
    VariableName,
)
from minicluster.document.security import SecurityContext

DEFAULT_IMAGE = "ghcr.io/rse-ops/accounting:app-latest"
DEFAULT_LOGS = "/tmp/fluxout"  # noqa: S108  # the reference's name inside the pod; kept for its documents

ImagePullPolicy = Literal["Always", "IfNotPresent", "Never"]
Environment = Annotated[dict[VariableName, Script], Field(max_length=MAX_ENTRIES)]
TextMap = Annotated[dict[Annotated[str, Field(max_length=317)], ShortText], Field(max_length=MAX_ENTRIES)]


def _capitalised(medium: str) -> str:
    """Return Kubernetes' spelling of `memory`, which documents for the reference have."""
    return "Memory" if medium == "memory" else medium


Medium = Annotated[
    Literal["", "Memory", "memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi"],
    AfterValidator(_capitalised),
]


class SecretReference(Record):
    """One value of a Secret that exists already."""

    name: ObjectName = Field(description="Name of the Secret.")
    key: ShortText = Field(description="Key inside the Secret.", min_length=1)


class Commands(Record):
    """Shell lines around the main command. Each may have several lines."""

    init: Script = Field("", description="Runs before anything else, on every broker.")
    pre: Script = Field("", description="Runs on every broker before Flux starts, with Flux on PATH.")
    broker_pre: Script = Field("", description="Runs on the lead broker only, before Flux starts.")
    worker_pre: Script = Field("", description="Runs on the followers only, before Flux starts.")
    service_pre: Script = Field("", description="Runs in a service or sidecar before its command.")
    post: Script = Field("", description="Runs when the broker has ended.")
    prefix: Script = Field("", description="Put before the broker's command line, such as a wrapper program.")
    script: Script = Field("", description="A whole script in place of `command`.")


class LifeCycle(Record):
    """Commands that Kubernetes runs in the container; each runs in a shell."""

    post_start_exec: Script = Field("", description="Runs right after the container has started.")
    pre_stop_exec: Script = Field("", description="Runs before the container is stopped.")


class Volume(Record):
    """Something to mount. It has one source; without any it is an emptyDir."""

    path: DirectoryPath = Field(
        "",
        description="Where it is mounted. `claimName` and `hostPath` need one; else `/mnt/<name>`.",
    )
    host_path: DirectoryPath = Field("", description="A directory of the node.")
    config_map_name: OptionalObjectName = Field("", description="A ConfigMap, see `items`.")
    items: TextMap = Field(
        default_factory=dict, description="For a ConfigMap or Secret: key → file name below `path`."
    )
    claim_name: OptionalObjectName = Field("", description="A PersistentVolumeClaim.")
    secret_name: OptionalObjectName = Field("", description="A Secret.")
    read_only: Flag = Field(False, description="Mount it read-only.")
    empty_dir: Flag = Field(False, description="A directory that lives as long as the pod.")
    empty_dir_medium: Medium = Field(
        "", description="What the emptyDir is made of: the node's disk (absent) or `Memory`."
    )
    empty_dir_size_limit: Quantity | None = Field(None, description="The most the emptyDir may hold.")
    csi_driver: OptionalObjectName = Field("", description="A CSI driver that makes the volume.")
    csi_driver_attributes: TextMap = Field(
        default_factory=dict, description="Attributes that the CSI driver is given."
    )


class Container(Record):
    """One container. The one with `runFlux` runs the brokers, one a pod."""

    image: ShortText = Field(DEFAULT_IMAGE, description="Image of the application.", min_length=1)
    name: OptionalLabelName = Field(
        "", description="Name of the container; only the one that runs Flux may go without."
    )
    command: Script = Field(
        "",
        description="What to run: one POSIX shell line, expanded once in the pod. "
        "With `batch`, each line is a job. Empty: an interactive cluster.",
    )
    working_dir: DirectoryPath = Field("", description="Directory that the command runs in.")
    environment: Environment = Field(default_factory=dict, description="Environment variables.")
    secrets: Annotated[dict[VariableName, SecretReference], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=dict, description="Environment variables that come from Secrets."
    )
    ports: Annotated[tuple[Port, ...], Field(max_length=64)] = Field(
        (), description="TCP ports that the container offers to others."
    )
    resources: ResourceRequirements = Field(
        default_factory=ResourceRequirements,
        description="CPU, memory and devices, as requests and limits.",
    )
    security_context: SecurityContext | None = Field(
        None, description="Kubernetes security settings of the container."
    )
    image_pull_secret: OptionalObjectName = Field("", description="Secret for pulling the image.")
    pull_always: Flag = Field(False, description="Pull the image even where the node has it.")
    image_pull_policy: ImagePullPolicy | None = Field(
        None, description="When to pull the image; stands over `pullAlways`."
    )
    run_flux: Flag = Field(
        False, description="This container runs Flux: exactly one does; a single one need not say it."
    )
    launcher: Flag = Field(
        False, description="The command submits its own jobs, so it is run directly, not as a job."
    )
    batch: Flag = Field(False, description="Each line of the command is submitted as a job of its own.")
    batch_raw: Flag = Field(
        False, description="The lines of a `batch` command are a script: do not wrap them."
    )
    logs: DirectoryPath = Field(
        DEFAULT_LOGS, description="Directory for the output of batch jobs; by default it is shown instead."
    )
    no_wrap_entrypoint: Flag = Field(
        False, description="For a sidecar: keep the image's own entry point, without waiting for Flux."
    )
    commands: Commands = Field(
        default_factory=Commands, description="Shell lines to run around the main command."
    )
    life_cycle: LifeCycle = Field(
        default_factory=LifeCycle, description="Shell lines that Kubernetes runs after start and before stop."
    )
    volumes: Annotated[dict[LabelName, Volume], Field(max_length=64)] = Field(
        default_factory=dict, description="Volumes to mount, by name."
    )
