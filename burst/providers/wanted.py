"""From a burst of the ledger to what a provider has to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.provider import WantedBurst

if TYPE_CHECKING:
    from burst.lifecycle.records import BurstRecord


def wanted_of(burst: BurstRecord, installation: str) -> WantedBurst:
    """Return what a provider has to know of a burst that an installation makes."""
    return WantedBurst(
        label=burst.label,
        installation=installation,
        nodes=burst.nodes,
        machine=burst.machine,
        spot=burst.spot,
        until=burst.until,
        cluster=burst.cluster,
        slot=burst.slot,
        isolated=burst.isolated,
    )
