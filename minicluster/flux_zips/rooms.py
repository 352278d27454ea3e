"""Which rooms run inside real Flux's own Python, and from which Python on.

A room is a package that is shipped whole, without the packages in it. So a module of such a room imports the
standard library, `flux`, and rooms of the same zip; what needs more lives in another room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Zip(NamedTuple):
    """One zip of a ConfigMap."""

    name: str
    """Its file name, which a release never changes."""
    floor: tuple[int, int]
    """The oldest Python that runs all of it."""
    rooms: tuple[str, ...]
    """Packages of ours, by their names; the `__init__` of each package around them comes along."""
    libraries: tuple[str, ...] = ()
    """Packages of others, shipped as they are installed here."""
    former: Mapping[str, str] = {}
    """Modules of release 0.1.0 that running pods still import, and where their `main` is now."""


LEAD = Zip(
    "flux_modules.zip",
    (3, 8),
    (
        "broker_config.formats",
        "minicluster.broker_link",
        "minicluster.burst_routing",
        "minicluster.fence",
        "minicluster.flux_modules",
        "minicluster.flux_modules.door",
        "minicluster.flux_modules.saving",
        "minicluster.lead_server",
        "minicluster.save_restore",
        "minicluster.stand_in",
        "minicluster.within",
    ),
    former={"minicluster.instance.flux_helper": "minicluster.broker_link.flux_helper"},
)
"""For the lead's server, dumps, relay and routing, and followers' fences.

Extensions add files, see `lead_server.extensions`.
"""

FENCE = Zip(
    LEAD.name,
    LEAD.floor,
    ("broker_config.formats", "minicluster.broker_link", "minicluster.fence"),
)
"""The part of it that followers need, where there is little room: with their fences."""

SCHEDULER = Zip(
    "flux_scheduler.zip",
    (3, 10),
    (
        "broker_config.formats",
        "minicluster.flux_modules",
        "minicluster.flux_modules.scheduler",
        "minicluster.flux_scheduler",
        "minicluster.malleable",
        "queue_policies",
        "queue_policies.cosched",
        "queue_policies.nodes",
        "queue_policies.orders",
        "queue_policies.placement",
    ),
    libraries=("pluggy",),
)
"""For the scheduler with our queue policies."""
