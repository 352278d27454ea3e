"""The price table of a cloud: which machines a burst may have there, and what they cost."""

from __future__ import annotations

from datetime import date  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field

from burst.errors import CallInvalid
from burst.planning import money
from burst.planning.records import NO_LIMIT, NodeShape, Offer
from minicluster.document.bursting import AmountText, OptionalAmountText  # noqa: TC001 - as above
from minicluster.document.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class PricedMachine(Record):
    """A type of machine with its price. One without cannot be chosen, as no budget could limit it."""

    machine: str = Field(description="Its type, as the cloud names it.", min_length=1)
    cores: int = Field(description="Cores that a broker has there.", ge=1)
    gpus: int = Field(0, description="GPUs that a broker has there.", ge=0)
    price: AmountText = Field(description="For a machine and hour, in the budgets' currency, such as `0.40`.")
    spot_price: OptionalAmountText = Field(
        "", description="The same at most as a spot machine; empty or absent: never as one."
    )
    price_date: date = Field(description="As of when the prices are, such as `2026-11-01`.")
    most: int = Field(NO_LIMIT, description="How many of it a burst may have.", ge=1)
    ready_seconds: float = Field(180.0, description="How long it takes until its nodes can join.", ge=0)


Priced = TypeVar("Priced", bound=PricedMachine)


def offers(
    provider: str, machines: Sequence[PricedMachine], fee: int = 0, before: float = 0.0
) -> tuple[Offer, ...]:
    """Return what plans choose from: each machine, and once more as a spot machine if that has a price.

    `fee` is what an hour of a burst costs besides its nodes, in micro-units; `before` is how many seconds
    something takes that has to be there before its nodes. Then it may take twice as long as it should.
    """
    return tuple(found for each in machines for found in _offers(provider, each, fee, before))


def _offers(provider: str, each: PricedMachine, fee: int, before: float) -> Iterator[Offer]:
    shape, ready = NodeShape(each.cores, each.gpus), before + each.ready_seconds
    most = 2.0 * ready if before else 0.0
    for price, is_spot in ((each.price, False), (each.spot_price, True)):
        if price:
            amount = money.amount(price)
            yield Offer(provider, each.machine, shape, amount, each.most, ready, is_spot, fee, most)


def twice(machines: Sequence[PricedMachine]) -> str:
    """Return why a table cannot be used where two rows have one machine; empty if all is well."""
    names = [each.machine for each in machines]
    found = sorted({each for each in names if names.count(each) > 1})
    return f"machines: {', '.join(found)} is there twice; each type of machine has one row" if found else ""


def chosen(
    provider: str, machines: Sequence[Priced], name: str, nodes: int, *, is_spot: bool = False
) -> Priced:
    """Return a machine of the table. Raises CallInvalid where it has none of the name, or not so many."""
    found = next((each for each in machines if each.machine == name), None)
    if found is None:
        names = ", ".join(each.machine for each in machines)
        raise CallInvalid(f"provider {provider} has no machine {name!r}, but {names}")
    if nodes > found.most:
        raise CallInvalid(f"{nodes} nodes of {name}: at most {found.most} are offered")
    if is_spot and not found.spot_price:
        raise CallInvalid(f"{name} has no spotPrice: it is not offered as a spot machine")
    return found
