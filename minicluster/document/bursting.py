"""What may be done of bursting without anybody: `spec.bursting`, which a burst service follows."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from minicluster.document.record import Record
from minicluster.document.scalars import BrokerCount, Flag, LabelName, Natural, OrEmpty, TextPattern

FENCE_MARGIN = 15
"""Seconds between the fence of a burst's brokers and their loss: their end takes some, and clocks differ."""
MAX_PROVIDERS = 64
MAX_SOURCE_RANGES = 64
MAX_BURST_USERS = 1_024
MAX_SECONDS = 365 * 86_400

Seconds = Annotated[int, Strict(), Field(ge=1, le=MAX_SECONDS)]
AmountText = Annotated[
    str,
    Strict(),
    Field(max_length=19),
    TextPattern(
        r"[0-9]{1,12}(\.[0-9]{1,6})?", 'an amount in quotes, such as "50" or "12.50", of at most 6 decimals'
    ),
]
OptionalAmountText = Annotated[AmountText, OrEmpty()]
Currency = Annotated[
    str, Strict(), Field(max_length=3), TextPattern(r"[A-Z]{3}", 'a currency\'s code, such as "EUR" or "USD"')
]
Period = Literal["day", "week", "month", "none"]
"""Calendar days, weeks from Monday, and months, in UTC; `none`: for ever."""
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"({_BYTE}\.){{3}}{_BYTE}/(3[0-2]|[12]?[0-9])"
_IPV6 = r"[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}/(12[0-8]|1[01][0-9]|[1-9]?[0-9])"
SourceRange = Annotated[
    str,
    Strict(),
    Field(max_length=43),
    TextPattern(rf"{_IPV4}|{_IPV6}", "a range of addresses, such as 10.0.0.0/8 or 2001:db8::/32"),
]
BurstUser = Annotated[str, Strict(), Field(min_length=1, max_length=256)]


class BurstSelector(Record):
    """Which burstable jobs burst: pending ones that have a time limit."""

    never_fits: Flag = Field(
        True, description="Jobs that can never run here, at the largest size, burst at once."
    )
    waiting: Flag = Field(
        True, description="Jobs that could run here burst once they have waited `afterSeconds`."
    )
    after_seconds: Natural = Field(600, description="How long a job that could run here waits before.")
    users: Annotated[tuple[BurstUser, ...], Field(max_length=MAX_BURST_USERS)] = Field(
        (), description="Whose jobs: owners that the RESTful API knows, else uids. Empty: everybody's."
    )
    assume_seconds: Annotated[int, Strict(), Field(ge=0, le=MAX_SECONDS)] = Field(
        0,
        description="Time limit by which jobs without one are planned. 0 or absent: they do not burst, as"
        " their cost has no bound.",
    )


class BurstBudget(Record):
    """Money that the bursts of this MiniCluster may cost; budgets of the service hold besides."""

    amount: AmountText = Field(
        description="What all its bursts may cost at worst in a period, such as `50` or `12.50`."
    )
    currency: Currency = Field("EUR", description="Currency of the amounts: the one of the service.")
    period: Period = Field("month", description="Calendar period in UTC after which it counts anew.")
    per_user: OptionalAmountText = Field(
        "",
        description="What one user's jobs may cost in a period, those in other MiniClusters of the same"
        " service included. Empty or absent: not limited.",
    )


class BurstPolicy(Record):
    """Have a burst service add remote hosts for jobs that wait. Without it they are added by hand."""

    providers: Annotated[tuple[LabelName, ...], Field(max_length=MAX_PROVIDERS)] = Field(
        (), description="Names of the service's providers that may be used. Empty: all that it allows here."
    )
    select: BurstSelector = Field(default_factory=BurstSelector, description="Which jobs burst.")
    join: Flag = Field(
        True,
        description="Burst brokers join this instance: its CURVE certificate goes to the providers. False:"
        " each job runs in an instance of its own there, which has no way here; it needs no hosts in"
        " flux.bursting.clusters.",
    )
    expose: Literal["tunnel", "nodePort", "loadBalancer", "none"] = Field(
        "tunnel",
        description="How burst brokers reach the lead broker. `tunnel`: through the provider's API server."
        " `nodePort`, `loadBalancer`: by a Service of that type while there are bursts. `none`: they reach it"
        " as it is.",
    )
    source_ranges: Annotated[tuple[SourceRange, ...], Field(max_length=MAX_SOURCE_RANGES)] = Field(
        (),
        description="From which addresses burst brokers come, where the lead broker is exposed by a Service:"
        " others are not let in. Empty: from everywhere.",
    )
    idle_seconds: Seconds = Field(
        300, description="How long a burst has nothing to run, and nothing waits for it, before it ends."
    )
    max_seconds: Seconds = Field(14_400, description="From the start of a burst's first job to its end.")
    drain_timeout_seconds: Natural = Field(
        300, description="How long the end of a burst waits for jobs that run; then they restart here."
    )
    fence_seconds: Seconds = Field(
        30, description="How long a burst broker gets no answer of the lead before it ends, with its jobs."
    )
    lost_after_seconds: Seconds = Field(
        60,
        description="How long no broker of a burst answers before it is given up, and its jobs restart: at"
        " least 15 more than `fenceSeconds`, so that no job runs on both sides.",
    )
    verify_seconds: Seconds = Field(
        30, description="Seconds between the two listings of a provider by which nothing is left of a burst."
    )
    max_nodes: BrokerCount = Field(
        0, description="Nodes that all bursts have at once, at most. 0 or absent: as many as there are hosts."
    )
    max_bursts: BrokerCount = Field(
        0,
        description="Bursts at once, at most. 0 or absent: as many as there are remote clusters; with"
        " `join: false` as many as jobs.",
    )
    budget: BurstBudget | None = Field(
        None, description="What bursts may cost. Absent: the service's budgets alone limit it."
    )
    dry_run: Flag = Field(
        True, description="Only report which bursts would be made. False: make them, which may cost money."
    )


class BurstStatus(Record):
    """One burst, until it is deleted."""

    id: Annotated[str, Strict(), Field(min_length=1, max_length=63)] = Field(
        description="Id of the burst, by which `minicluster burst` knows it."
    )
    slot: Annotated[str, Strict(), Field(max_length=63)] = Field(
        "",
        description="Remote cluster of `flux.bursting.clusters` whose hosts it has; `isolated-ID` where a job"
        " has an instance of its own.",
    )
    provider: Annotated[str, Strict(), Field(max_length=63)] = Field("", description="Who has made it.")
    state: Annotated[str, Strict(), Field(max_length=63)] = Field(
        "", description="Where it is in its life: `provisioning`, `active`, `deleting` and so on."
    )
    nodes: BrokerCount = Field(0, description="How many nodes it has.")
    until: Annotated[str, Strict(), Field(max_length=40)] = Field(
        "", description="When it ends at the latest."
    )
    cost: Annotated[str, Strict(), Field(max_length=40)] = Field(
        "", description="What it costs at worst, with the currency, such as `3.20 EUR`."
    )
