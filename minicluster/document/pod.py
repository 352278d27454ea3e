"""What the broker pods have in common: where they may run, and with which rights."""

from typing import Annotated, Literal

from pydantic import Field

from minicluster.document.container import TextMap
from minicluster.document.record import Record
from minicluster.document.resources import ResourceList
from minicluster.document.scalars import (
    MAX_ENTRIES,
    Flag,
    Integer,
    LabelName,
    ObjectName,
    OptionalObjectName,
    Positive,
    ShortText,
)
from minicluster.document.security import PodSecurityContext

LabelValues = Annotated[tuple[ShortText, ...], Field(max_length=MAX_ENTRIES)]


class Toleration(Record):
    """A taint that the pods put up with."""

    key: ShortText = Field("", description="Key of the taint; absent with `Exists`: every taint.")
    operator: Literal["Exists", "Equal"] | None = Field(None, description="`Equal` (absent) or `Exists`.")
    value: ShortText = Field("", description="Value of the taint, for `Equal`.")
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        "", description="Effect of the taint; absent: every effect."
    )
    toleration_seconds: Integer | None = Field(
        None, description="How many seconds a `NoExecute` taint is put up with; absent: for ever."
    )


class LabelRequirement(Record):
    """One condition on a label."""

    key: ShortText = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="How it is compared.")
    values: LabelValues = Field((), description="Values for `In` and `NotIn`.")


class LabelSelector(Record):
    """Which pods are meant, by their labels."""

    match_labels: TextMap = Field(default_factory=dict, description="Labels with these very values.")
    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=64)] = Field(
        (), description="Further conditions on labels."
    )


class TopologySpreadConstraint(Record):
    """How evenly the pods are spread over zones, racks or nodes."""

    max_skew: Positive = Field(description="How many pods two domains may differ by.")
    topology_key: ShortText = Field(description="Node label whose values are the domains.", min_length=1)
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="What to do where it cannot be met."
    )
    label_selector: LabelSelector | None = Field(None, description="Which pods are counted.")
    match_label_keys: Annotated[tuple[ShortText, ...], Field(max_length=64)] = Field(
        (), description="Labels whose values, taken from the pod itself, narrow the selection."
    )
    min_domains: Positive | None = Field(None, description="The least number of domains.")
    node_affinity_policy: Literal["Honor", "Ignore"] | None = Field(
        None, description="Whether nodes outside the pod's own affinity count."
    )
    node_taints_policy: Literal["Honor", "Ignore"] | None = Field(
        None, description="Whether nodes with taints that are not tolerated count."
    )


class PodResourceClaim(Record):
    """A claim on devices that the pod's containers can name."""

    name: LabelName = Field(description="Name inside the pod.")
    resource_claim_name: OptionalObjectName = Field("", description="A ResourceClaim that exists.")
    resource_claim_template_name: OptionalObjectName = Field(
        "", description="A ResourceClaimTemplate, from which every pod gets a claim of its own."
    )


class ImagePullSecret(Record):
    """A Secret with which images are pulled."""

    name: ObjectName = Field(description="Name of the Secret.")


class PodSpec(Record):
    """Settings of the broker pods that Kubernetes understands, passed through."""

    labels: TextMap = Field(default_factory=dict, description="Labels of every pod.")
    annotations: Annotated[
        dict[Annotated[str, Field(max_length=317)], Annotated[str, Field(strict=True, max_length=262_144)]],
        Field(max_length=MAX_ENTRIES),
    ] = Field(default_factory=dict, description="Annotations of every pod.")
    node_selector: TextMap = Field(
        default_factory=dict, description="Labels that a node must have, with their values."
    )
    node_affinity: Annotated[
        dict[Annotated[str, Field(max_length=317)], LabelValues], Field(max_length=MAX_ENTRIES)
    ] = Field(default_factory=dict, description="Node label → the values of which a node must have one.")
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=MAX_ENTRIES)] = Field(
        (), description="Taints that the pods put up with."
    )
    topology_spread_constraints: Annotated[tuple[TopologySpreadConstraint, ...], Field(max_length=32)] = (
        Field((), description="How evenly the pods are spread.")
    )
    resources: ResourceList = Field(
        default_factory=dict,
        description="Overhead of a pod beside its containers (the RuntimeClass must name the same).",
    )
    resource_claims: Annotated[tuple[PodResourceClaim, ...], Field(max_length=64)] = Field(
        (), description="Claims on devices (dynamic resource allocation)."
    )
    security_context: PodSecurityContext | None = Field(
        None, description="Kubernetes security settings of the pods."
    )
    service_account_name: OptionalObjectName = Field("", description="Service account of the pods.")
    automount_service_account_token: Flag = Field(
        False, description="Give the pods the service account's token."
    )
    scheduler_name: OptionalObjectName = Field("", description="Kubernetes scheduler that places the pods.")
    priority_class_name: OptionalObjectName = Field("", description="PriorityClass of the pods.")
    runtime_class_name: OptionalObjectName = Field("", description="RuntimeClass of the pods.")
    image_pull_secrets: Annotated[tuple[ImagePullSecret, ...], Field(max_length=32)] = Field(
        (), description="Secrets with which all images are pulled."
    )
    restart_policy: Literal["Never", "OnFailure"] = Field(
        "Never",
        description="`Never`: lost pods are replaced by the exit-code rules. "
        "`OnFailure`: containers restart in place, without those rules.",
    )
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = Field(
        None, description="DNS policy of the pods; absent: ClusterFirst."
    )
    host_ipc: Flag = Field(False, alias="hostIPC", description="Share the node's IPC namespace.")
    host_pid: Flag = Field(False, alias="hostPID", description="Share the node's process namespace.")
