"""A Compute Engine that is none: instances of one region over a RehearsedCloud, in the words of its REST API.

Calls and faults have names such as `compute.regionInstances.bulkInsert`. There are no disks and networks,
and no other instances than those of bulk inserts and node pools.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.rehearsal.cloud import CloudCapacityError, CloudFault
from burst.rehearsal.compute_catalog import ComputeCatalog
from burst.rehearsal.compute_instances import PROJECT_PATH, ComputeInstances, InstanceOrder
from burst.rehearsal.compute_operations import ComputeOperations
from burst.rehearsal.google_account import GoogleFrontend, absent, number, refusal
from burst.rehearsal.google_filters import MAX_PAGE
from burst.rehearsal.server import CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from burst.rehearsal.cloud import CloudGroup, CloudMachine, RehearsedCloud
    from burst.rehearsal.compute_operations import ComputeOperation
    from burst.rehearsal.google_account import FakeGoogleAccount
    from burst.rehearsal.server import CloudRequest

BULK_INSERT, DELETE = "compute.regionInstances.bulkInsert", "compute.instances.delete"
MIN_SECONDS, MAX_SECONDS = 30, 120 * 86_400
"""Of `maxRunDuration`."""
MAX_ORDER_SECONDS = 30.0
"""Seconds after which all instances of an order are there; they boot meanwhile, and afterwards."""
SHORT = "VM_MIN_COUNT_NOT_REACHED"
EXHAUSTED = "ZONE_RESOURCE_POOL_EXHAUSTED"
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")


class _InvalidError(Exception):
    """A request that is refused, and why."""


@dataclass
class FakeComputeEngine:
    """One region of one project."""

    cloud: RehearsedCloud
    account: FakeGoogleAccount
    region: str = "us-central1"
    zones: tuple[str, ...] = ("us-central1-a", "us-central1-b")
    page_size: int = MAX_PAGE

    def __post_init__(self) -> None:
        self._frontend = GoogleFrontend(self.cloud, self.account)
        self._operations = ComputeOperations(self._frontend, self.page_size)
        self.instances = ComputeInstances(self._frontend, self.zones, self.page_size)
        self.catalog = ComputeCatalog(self._frontend, self.region, self.zones)

    def routes(self) -> list[CloudRoute]:
        """Return all that it answers."""
        served = self._frontend.served
        bulk = rf"{PROJECT_PATH}/regions/([\w-]+)/instances/bulkInsert"
        one = rf"{PROJECT_PATH}/zones/([\w-]+)/instances/([\w-]+)"
        own = [
            CloudRoute("POST", bulk, served(BULK_INSERT, self._bulk_insert)),
            CloudRoute("DELETE", one, served(DELETE, self._delete)),
        ]
        return [*own, *self.instances.routes(), *self._operations.routes(), *self.catalog.routes()]

    def metadata(self, machine: CloudMachine) -> Mapping[str, str]:
        """Return the metadata of an instance, which its bulk insert had."""
        order = self.instances.orders.get(machine.group)
        properties = order.body["instanceProperties"] if order is not None else {}
        return {each["key"]: each["value"] for each in properties.get("metadata", {}).get("items", ())}

    def _bulk_insert(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        if request.parts[0] != self.region:
            return absent("regions", request.parts[0])
        asked = request.value("requestId")
        if (known := self._operations.requested("bulkInsert", asked)) is not None:
            return self._operations.answer(known)
        if fault is CloudFault.QUOTA:
            return self._no_quota(f"Quota 'CPUS' exceeded.  Limit: 24.0 in region {self.region}.")
        body = request.json()
        try:
            self._check(body)
            return self._operations.answer(self._begin(body, asked, fault))
        except _InvalidError as error:
            return refusal(400, "invalid", str(error))
        except CloudCapacityError as error:
            return self._no_quota(f"Quota 'INSTANCES' exceeded: {error}, in region {self.region}.")

    def _no_quota(self, message: str) -> CloudAnswer:
        return refusal(403, "quotaExceeded", message)

    def _check(self, body: Mapping[str, Any]) -> None:
        """Raise _InvalidError for what the real one refuses, too."""
        properties = body.get("instanceProperties") or {}
        kind = properties.get("machineType", "")
        scheduling = properties.get("scheduling") or {}
        is_spot = scheduling.get("provisioningModel") == "SPOT"
        if kind not in (self.cloud.spot_prices if is_spot else self.cloud.prices):
            raise _InvalidError(
                f"Invalid value for field 'resource.instanceProperties.machineType': '{kind}'."
                f" Machine type with name '{kind}' does not exist in region '{self.region}'."
            )
        for label in (properties.get("labels") or {}).values():
            if not _LABEL.fullmatch(label):
                raise _InvalidError(
                    f"Invalid value for field 'resource.instanceProperties.labels': '{label}'"
                )
        seconds = scheduling.get("maxRunDuration", {}).get("seconds")
        if seconds is not None and not MIN_SECONDS <= number(seconds) <= MAX_SECONDS:
            raise _InvalidError("Invalid value for field 'scheduling.maxRunDuration': it is out of range")
        if seconds is not None and scheduling.get("instanceTerminationAction") != "DELETE":
            raise _InvalidError("scheduling.instanceTerminationAction: only DELETE is rehearsed")
        if not properties.get("disks") or not properties.get("networkInterfaces"):
            raise _InvalidError(
                "Invalid value for field 'resource.instanceProperties': no disk, or no network"
            )
        if bool(body.get("namePattern")) == bool(body.get("perInstanceProperties")):
            raise _InvalidError("Either namePattern or perInstanceProperties must be set")

    def _begin(self, body: Mapping[str, Any], asked: str, fault: CloudFault | None) -> ComputeOperation:
        properties, count = body["instanceProperties"], number(body["count"])
        zone = self._zone_of(body)
        taken = {each.name for each in self.cloud.there() if self.instances.zone(each) == zone}
        names = _names(body, count, taken)
        group = f"bulk-{len(self.instances.orders)}"
        self.instances.orders[group] = InstanceOrder(body, zone)
        is_spot = properties.get("scheduling", {}).get("provisioningModel") == "SPOT"
        made = self.cloud.make(
            f"zones/{zone}",
            group,
            properties["machineType"],
            count,
            properties.get("labels") or {},
            is_spot=is_spot,
            fault=fault,
            names=names,
        )
        self.cloud.groups.remove(made)  # an order is no thing that could be listed
        self.instances.orders[group] = InstanceOrder(body, zone, made)
        machines = [each for each in self.cloud.machines if each.group == group]
        seconds = properties.get("scheduling", {}).get("maxRunDuration", {}).get("seconds")
        if seconds is not None:
            self.cloud.end(machines, self.cloud.now() + number(seconds))
        least = number(body.get("minCount", count))
        return self._ordered(made, machines, zone, asked, least)

    def _ordered(
        self, group: CloudGroup, machines: Sequence[CloudMachine], zone: str, asked: str, least: int
    ) -> ComputeOperation:
        """Return the operation of an order; without enough machines those that came are deleted again."""
        is_short = len(machines) < least
        status = {
            "targetVmCount": group.size,
            "createdVmCount": len(machines),
            "failedToCreateVmCount": group.size - len(machines),
            "deletedVmCount": 0,
            "status": "ROLLING_BACK" if is_short else "CREATING",
        }
        detail = {"instancesBulkInsertOperationMetadata": {"perLocationStatus": {f"zones/{zone}": status}}}
        seconds = min(self.cloud.coming, MAX_ORDER_SECONDS)
        made = self._operations.begin(
            "bulkInsert",
            f"regions/{self.region}",
            "instances",
            asked,
            seconds=seconds,
            group=group.name,
            detail=detail,
        )
        text = f"The zone 'projects/rehearsal/zones/{zone}' does not have enough resources: {group.problem}."
        for _ in range(group.size - len(machines)):
            self._operations.begin(
                "insert",
                f"zones/{zone}",
                "instances",
                "",
                seconds=seconds,
                group=group.name,
                errors=[(EXHAUSTED, text)],
            )
        if not is_short and len(machines) < group.size:
            group.problem = ""  # there are enough of them, which become ready
        if is_short:
            made.errors.append((SHORT, f"Requested minimum count of {least} VMs could not be created."))
            self.cloud.end(machines, self.cloud.now() + seconds)
        return made

    def _delete(self, request: CloudRequest, fault: CloudFault | None) -> CloudAnswer:
        zone, name = request.parts
        found = self.instances.find(zone, name)
        if found is None:
            return absent("instances", name)
        done = self.cloud.delete_machine(found, fault)
        errors = [("INTERNAL_ERROR", f"instance {name} could not be deleted")] if found.fails == done else []
        made = self._operations.begin(
            "delete",
            f"zones/{zone}",
            f"instances/{name}",
            request.value("requestId"),
            seconds=done - self.cloud.now(),
            errors=errors,
        )
        return self._operations.answer(made)

    def _zone_of(self, body: Mapping[str, Any]) -> str:
        wanted = (body.get("locationPolicy") or {}).get("locations") or {}
        denied = {name for name, each in wanted.items() if each.get("preference") == "DENY"}
        return next((each for each in self.zones if f"zones/{each}" not in denied), self.zones[0])


def _names(body: Mapping[str, Any], count: int, taken: set[str]) -> list[str]:
    """Return the names of the instances. Raises _InvalidError for one that is taken."""
    given = sorted(body.get("perInstanceProperties") or {}, key=_by_number)
    if not given:
        prefix, signs = re.fullmatch(r"([^#]*)(#+)", body["namePattern"]).groups()  # type: ignore[union-attr]
        numbers = [_by_number(each)[1] for each in taken if each.startswith(prefix)]
        first = max(numbers, default=0) + 1
        return [f"{prefix}{first + each:0{len(signs)}}" for each in range(count)]
    if clash := sorted(taken & set(given)):
        raise _InvalidError(f"The resource 'instances/{clash[0]}' already exists")
    if len(given) != count:
        raise _InvalidError("perInstanceProperties must have as many entries as count")
    return given


def _by_number(name: str) -> tuple[str, int]:
    prefix, _, end = name.rpartition("-")
    return prefix, int(end) if end.isdigit() else 0
