"""The settings file of a burst service, as records: providers, and what may be spent."""

from typing import Annotated, Any

from pydantic import Field, Strict

from minicluster.document.bursting import AmountText, Currency, Period
from minicluster.document.record import Record
from minicluster.document.scalars import LabelName, TextPattern

PayerKey = Annotated[
    str, Strict(), Field(max_length=64), TextPattern(r"[0-9a-f]{64}", "64 hexadecimal digits")
]
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
ScopeText = Annotated[
    str,
    Strict(),
    Field(max_length=140),
    TextPattern(
        rf"all|provider:{_LABEL}|cluster:{_LABEL}/{_LABEL}",
        '"all", "provider:NAME" or "cluster:NAMESPACE/NAME"',
    ),
]
KindName = Annotated[
    str,
    Strict(),
    Field(max_length=63),
    TextPattern(r"[a-z0-9]([-a-z0-9_]*[a-z0-9])?", 'the name of a kind, such as "kubernetes"'),
]

HookName = Annotated[
    str,
    Strict(),
    Field(max_length=63),
    TextPattern(r"[a-z0-9]([-a-z0-9_]*[a-z0-9])?", "the name of an entry point"),
]
DOCUMENT, PRIORITY = "document", "priority"


class ProviderSettings(Record):
    """One provider."""

    name: LabelName = Field(description="Name that documents and jobs have for it.")
    kind: KindName = Field(description="What it is: the name of an entry point, such as `kubernetes`.")
    namespaces: tuple[LabelName, ...] = Field(
        (), description="Namespaces whose MiniClusters may use it. Empty: all."
    )
    settings: dict[str, Any] = Field(default_factory=dict, description="What its kind wants to know.")


class ServiceBudget(Record):
    """Money that bursts may cost at worst, whatever documents allow."""

    scope: ScopeText = Field(description="`all`, `provider:NAME` or `cluster:NAMESPACE/NAME`.")
    amount: AmountText = Field(description="What may be reserved and spent in a period.")
    period: Period = Field("month", description="Calendar period in UTC after which it counts anew.")


class UserBudget(Record):
    """Money that each user's jobs may cost at worst."""

    amount: AmountText = Field(description="What may be reserved and spent in a period.")
    period: Period = Field("month", description="Calendar period in UTC after which it counts anew.")


class BurstSettings(Record):
    """All settings of a burst service."""

    currency: Currency = Field("EUR", description="Currency of all prices and budgets: there is one.")
    providers: tuple[ProviderSettings, ...] = Field((), description="Who makes machines.")
    budgets: tuple[ServiceBudget, ...] = Field((), description="What bursts may cost.")
    payer_keys: tuple[PayerKey, ...] = Field(
        (),
        description="Public keys of RESTful APIs, 64 hexadecimal digits each, as `minicluster rest-api` logs"
        " its own. Their users pay for their jobs by their names, others by their uids.",
    )
    selector: HookName = Field(
        DOCUMENT,
        description="Which burstable jobs burst, and when: `document`, as `spec.bursting.select` says, or an"
        " entry point of the group `minicluster.burst_selectors`.",
    )
    rank: HookName = Field(
        PRIORITY,
        description="Which of them come first: `priority`, or an entry point of the group"
        " `minicluster.burst_ranks`.",
    )
    per_user: UserBudget | None = Field(
        None, description="What each user's jobs may cost. Absent: not limited."
    )
