"""The operation of an order: found by the id of its request, with the reasons of what it did not make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.providers.compute_engine.bulk_insert import request_id
from burst.providers.compute_engine.reports import BulkOperation
from burst.providers.google.credentials import TIMEOUT
from burst.providers.google.instances import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from burst.providers.compute_engine.settings import ComputeEngineSettings
    from burst.providers.google.credentials import GoogleClients
    from burst.providers.provider import WantedBurst

_DONE = "DONE"
MAX_PROBLEMS = 5
"""Of which a reason consists: each instance that did not come has one."""


def find(
    clients: GoogleClients, settings: ComputeEngineSettings, wanted: WantedBurst
) -> BulkOperation | None:
    """Return the operation that makes the instances of a burst; None: there is none, or it is long over."""
    request = {
        "project": settings.project,
        "region": settings.region,
        "filter": f'clientOperationId = "{request_id(wanted)}"',
    }
    found = clients.compute("RegionOperations").list(request=request, retry=None, timeout=TIMEOUT)
    return next((read(clients, settings, each) for each in found), None)


def read(clients: GoogleClients, settings: ComputeEngineSettings, operation: Any) -> BulkOperation:
    """Return how far an operation is, and where it failed, why those did that it consists of."""
    begun = seconds(operation.insert_time)
    locations = operation.instances_bulk_insert_operation_metadata.per_location_status
    zones = tuple(each.rpartition("/")[2] for each in locations)
    if operation.status.name != _DONE:
        return BulkOperation(False, begun=begun, zones=zones)
    problems = [(each.code, each.message) for each in operation.error.errors]
    if problems:
        problems += _reasons(clients, settings, operation, zones)
    once = tuple(dict.fromkeys(problems))[:MAX_PROBLEMS]
    return BulkOperation(True, seconds(operation.end_time), once, begun, zones)


def _reasons(
    clients: GoogleClients, settings: ComputeEngineSettings, operation: Any, zones: Iterable[str]
) -> list[tuple[str, str]]:
    """Return why single instances were not made: the order itself has only that there were too few."""
    group = operation.operation_group_id
    if not group:
        return []
    found = []
    for zone in zones:
        request = {
            "project": settings.project,
            "zone": zone,
            "filter": f'operationGroupId = "{group}"',
        }
        for each in clients.compute("ZoneOperations").list(request=request, retry=None, timeout=TIMEOUT):
            found += [(one.code, one.message) for one in each.error.errors]
    return found
