"""The instances of a rehearsed Compute Engine as its listings have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.rehearsal.compute_operations import ROOT, timestamp
from burst.rehearsal.google_account import absent, refusal
from burst.rehearsal.google_filters import MAX_PAGE, FilterInvalidError, filtered, page
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.rehearsal.cloud import CloudFault, CloudGroup, CloudMachine
    from burst.rehearsal.google_account import GoogleFrontend
    from burst.rehearsal.server import CloudRequest

LIST, LIST_ALL, GET = "compute.instances.list", "compute.instances.aggregatedList", "compute.instances.get"
CONSOLE = "compute.instances.getSerialPortOutput"
PROJECT_PATH = r"/compute/v1/projects/[\w.:-]+"


class InstanceOrder(NamedTuple):
    """What was ordered at once, and what came of it."""

    body: Mapping[str, Any]
    zone: str
    group: CloudGroup | None = None


@dataclass
class ComputeInstances:
    """All instances of a region, by bulk inserts and of node pools."""

    frontend: GoogleFrontend
    zones: tuple[str, ...]
    page_size: int = MAX_PAGE
    consoles: dict[str, str] = field(default_factory=dict)
    """What instances wrote to their serial console, by name."""
    unreachable: set[str] = field(default_factory=set)
    """Zones that listings do not reach."""
    orders: dict[str, InstanceOrder] = field(default_factory=dict)
    """By group."""

    def routes(self) -> list[CloudRoute]:
        """Return what reads them."""
        zonal = rf"{PROJECT_PATH}/zones/([\w-]+)/instances"
        calls = [
            (rf"{PROJECT_PATH}/aggregated/instances", LIST_ALL, self._list_all),
            (zonal, LIST, self._list),
            (rf"{zonal}/([\w-]+)", GET, self._get),
            (rf"{zonal}/([\w-]+)/serialPort", CONSOLE, self._console),
        ]
        return [CloudRoute("GET", path, self.frontend.served(call, work)) for path, call, work in calls]

    def _list_all(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        try:
            found = filtered(self._listed(), request.value("filter"))
        except FilterInvalidError as error:
            return refusal(400, "invalid", str(error))
        items, after = page(found, request, self.page_size)
        scopes: dict[str, Any] = {}
        for zone in self.zones:
            here = [each for each in items if each["zone"].endswith(f"/{zone}")]
            scope = f"zones/{zone}"
            empty = {"code": "NO_RESULTS_ON_PAGE", "message": f"There are no results for scope '{scope}'."}
            scopes[scope] = {"instances": here} if here else {"warning": empty}
            if zone in self.unreachable:
                scopes[scope] = {"warning": {"code": "UNREACHABLE", "message": f"'{scope}' is not reached"}}
        return CloudAnswer(body={"kind": "compute#instanceAggregatedList", "items": scopes, **after})

    def _list(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        try:
            found = filtered(self._listed(), request.value("filter"))
        except FilterInvalidError as error:
            return refusal(400, "invalid", str(error))
        here = [each for each in found if each["zone"].endswith(f"/{request.parts[0]}")]
        items, after = page(here, request, self.page_size)
        return CloudAnswer(body={"kind": "compute#instanceList", "items": items, **after})

    def _get(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        found = self.find(*request.parts)
        return CloudAnswer(body=self._json(found)) if found else absent("instances", request.parts[1])

    def _console(self, request: CloudRequest, _fault: CloudFault | None) -> CloudAnswer:
        found = self.find(*request.parts)
        if found is None:
            return absent("instances", request.parts[1])
        return CloudAnswer(body={"contents": self.consoles.get(found.name, ""), "start": "0", "next": "0"})

    def find(self, zone: str, name: str) -> CloudMachine | None:
        """Return the instance that has a name in a zone now."""
        there = (each for each in self.frontend.cloud.there() if each.name == name)
        return next((each for each in there if self.zone(each) == zone), None)

    def _listed(self) -> list[dict[str, Any]]:
        return [self._json(each) for each in self.frontend.cloud.listed_machines({})]

    def _json(self, machine: CloudMachine) -> dict[str, Any]:
        zone = self.zone(machine)
        return {
            "kind": "compute#instance",
            "id": str(abs(hash((machine.name, machine.started))) % 10**15),
            "name": machine.name,
            "zone": f"{ROOT}/zones/{zone}",
            "machineType": f"{ROOT}/zones/{zone}/machineTypes/{machine.kind}",
            "status": self._status(machine),
            "creationTimestamp": timestamp(machine.started),
            "labels": dict(machine.labels),
            "scheduling": {"provisioningModel": "SPOT" if machine.is_spot else "STANDARD"},
        }

    def _status(self, machine: CloudMachine) -> str:
        now = self.frontend.cloud.now()
        group = self._group(machine)
        if machine.is_going(now) or (group is not None and group.is_there(now) and group.is_going(now)):
            return "STOPPING"
        return "STAGING" if group is not None and not group.is_ready(now) else "RUNNING"

    def _group(self, machine: CloudMachine) -> CloudGroup | None:
        order = self.orders.get(machine.group)
        if order is not None:
            return order.group
        return next(
            (each for each in reversed(self.frontend.cloud.groups) if each.name == machine.group), None
        )

    def zone(self, machine: CloudMachine) -> str:
        """Return where an instance is."""
        order = self.orders.get(machine.group)
        if order is not None:
            return order.zone
        group = self._group(machine)
        return str(group.detail.get("zone", self.zones[0])) if group is not None else self.zones[0]
