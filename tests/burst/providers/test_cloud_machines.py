"""The price table of a cloud."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from burst.errors import CallInvalid
from burst.planning.records import NO_LIMIT, NodeShape, Offer
from burst.providers.cloud_machines import PricedMachine, chosen, offers, twice

ROW: dict[str, Any] = {"machine": "c7i.2xlarge", "cores": 4, "price": "0.357", "priceDate": "2026-11-01"}


def machine(**more: Any) -> PricedMachine:
    return PricedMachine.model_validate({**ROW, **more})


def test_a_machine_is_one_offer() -> None:
    [found] = offers("eks", [machine(most=9, readySeconds=90)])
    assert found == Offer("eks", "c7i.2xlarge", NodeShape(4), 357_000, 9, 90.0)


def test_a_machine_with_a_spot_price_is_one_more_of_the_same_name() -> None:
    usual, spot = offers("eks", [machine(spotPrice="0.12")], fee=100_000)
    assert (usual.machine, usual.price, usual.spot, usual.fee) == ("c7i.2xlarge", 357_000, False, 100_000)
    assert (spot.machine, spot.price, spot.spot, spot.fee) == ("c7i.2xlarge", 120_000, True, 100_000)


@pytest.mark.parametrize("lacking", ["price", "priceDate", "cores"])
def test_a_row_without_what_a_budget_needs_is_refused(lacking: str) -> None:
    with pytest.raises(ValidationError, match=f"{lacking}\n.*Field required"):
        PricedMachine.model_validate({key: value for key, value in ROW.items() if key != lacking})


def test_a_machine_has_one_row() -> None:
    assert twice([machine()]) == ""
    assert twice([machine(), machine()]) == (
        "machines: c7i.2xlarge is there twice; each type of machine has one row"
    )


def test_what_is_not_in_the_table_cannot_be_chosen() -> None:
    rows = [machine(most=2)]
    assert chosen("eks", rows, "c7i.2xlarge", 2) is rows[0]
    with pytest.raises(CallInvalid, match=r"provider eks has no machine 'c8', but c7i\.2xlarge"):
        chosen("eks", rows, "c8", 1)
    with pytest.raises(CallInvalid, match=r"3 nodes of c7i\.2xlarge: at most 2 are offered"):
        chosen("eks", rows, "c7i.2xlarge", 3)
    assert machine().most == NO_LIMIT
