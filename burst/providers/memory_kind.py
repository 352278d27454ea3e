"""Providers in memory as a kind: to rehearse policies without machines. They forget all at the end."""

import time
from typing import Annotated

from pydantic import BaseModel, Field, Strict

from burst.planning import money
from burst.planning.records import NodeShape, Offer
from burst.providers.memory import MemoryCloud, MemoryProvider
from burst.providers.plugins import ProviderContext
from minicluster.document.bounds import MAX_CORES, MAX_GPUS, MAX_HOSTS
from minicluster.document.bursting import AmountText
from minicluster.document.record import Record
from minicluster.document.scalars import Flag, ShortText

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class MemoryOffer(Record):
    """Machines of one kind."""

    machine: ShortText = Field(description="Name of the kind of machine.", min_length=1)
    cores: Annotated[int, Strict(), Field(ge=1, le=MAX_CORES)] = Field(description="Cores of a node.")
    gpus: Annotated[int, Strict(), Field(ge=0, le=MAX_GPUS)] = Field(0, description="GPUs of a node.")
    price_per_hour: AmountText = Field("0", description="Price of a node an hour.")
    fee_per_hour: AmountText = Field("0", description="Price of a burst an hour, besides its nodes.")
    max_nodes: Annotated[int, Strict(), Field(ge=1, le=MAX_HOSTS)] = Field(
        MAX_HOSTS, description="How many nodes there may be at once."
    )
    ready_seconds: NonNegative = Field(120.0, description="Seconds until nodes can join.")
    spot: Flag = Field(False, description="The provider may take a node away at any time.")


class MemorySettings(Record):
    """Settings of a provider in memory."""

    coming_seconds: NonNegative = Field(5.0, description="Seconds until a resource is ready.")
    going_seconds: NonNegative = Field(5.0, description="Seconds until a deleted resource is gone.")
    offers: tuple[MemoryOffer, ...] = Field(description="The machines that it has.", min_length=1)


class MemoryKind:
    """Opens such providers, each with a cloud of its own."""

    settings = MemorySettings

    def open(self, name: str, settings: BaseModel, context: ProviderContext) -> MemoryProvider:  # noqa: ARG002
        """Return a provider whose time is the clock's."""
        wanted = MemorySettings.model_validate(settings)
        cloud = MemoryCloud(
            time.time,
            wanted.coming_seconds,
            wanted.going_seconds,
            capacity={each.machine: each.max_nodes for each in wanted.offers},
        )
        return MemoryProvider(cloud, [_offer(name, each) for each in wanted.offers], name)


def _offer(provider: str, offered: MemoryOffer) -> Offer:
    return Offer(
        provider=provider,
        machine=offered.machine,
        shape=NodeShape(offered.cores, offered.gpus),
        price=money.amount(offered.price_per_hour),
        most=offered.max_nodes,
        ready=offered.ready_seconds,
        spot=offered.spot,
        fee=money.amount(offered.fee_per_hour),
    )


KIND = MemoryKind()
