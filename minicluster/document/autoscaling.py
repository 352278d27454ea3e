"""Sizes that follow demand: the HorizontalPodAutoscaler that a MiniCluster may own."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from minicluster.document.record import Record
from minicluster.document.scalars import BrokerCount, OptionalObjectName, Positive, Quantity, TextPattern

DEFAULT_METRIC = "flux_nodes_demanded"


class ScalingPolicy(Record):
    """How much the size may change within a period."""

    type: Literal["Pods", "Percent"] = Field(description="What `value` counts.")
    value: Positive = Field(description="Pods, or percent of the size.")
    period_seconds: Annotated[int, Strict(), Field(ge=1, le=1800)] = Field(
        description="Length of the period in seconds."
    )


class ScalingRules(Record):
    """How fast the size changes in one direction."""

    stabilization_window_seconds: Annotated[int, Strict(), Field(ge=0, le=3600)] | None = Field(
        None, description="Seconds of past recommendations that are weighed against flapping."
    )
    select_policy: Literal["Max", "Min", "Disabled"] | None = Field(
        None, description="Which of several policies decides."
    )
    policies: Annotated[tuple[ScalingPolicy, ...], Field(max_length=16)] = Field(
        (), description="How much the size may change."
    )
    tolerance: Quantity | None = Field(
        None, description="How far the metric may be off, as a fraction, before the size changes."
    )


class Behavior(Record):
    """How fast the size grows and shrinks; passed through to the autoscaler."""

    scale_up: ScalingRules | None = Field(None, description="Growth.")
    scale_down: ScalingRules | None = Field(None, description="Shrinking.")


class Autoscaling(Record):
    """Ask for an autoscaler on this MiniCluster, driven by its queue."""

    min_size: BrokerCount = Field(
        0, description="The least number of brokers; 0 or absent: `spec.minSize`, else 1."
    )
    max_size: BrokerCount = Field(
        0, description="The greatest number of brokers; 0 or absent: `spec.maxSize`."
    )
    metric: Annotated[
        str,
        Strict(),
        Field(max_length=128),
        TextPattern(r"[a-z_][a-z0-9_]*", 'a metric\'s name: a-z, 0-9 and "_"'),
    ] = Field(DEFAULT_METRIC, description="Metric that the size follows.")
    target: Quantity = Field("1", description="Value of the metric that one broker stands for.")
    behavior: Behavior | None = Field(
        None, description="How fast the size grows and shrinks; what it leaves out is as by default."
    )
    tls_secret: OptionalObjectName = Field(
        "",
        description="Secret with the certificate (tls.crt, tls.key) that readers of metrics are shown, and"
        " the authority (ca.crt) of theirs, which count as a token; mounted when pods start.",
    )
