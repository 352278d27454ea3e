"""The order for the instances of a burst: all of them or none, and each ends by itself."""

from __future__ import annotations

import math
import uuid
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid
from burst.joining.workers import labels_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from burst.providers.compute_engine.settings import ComputeEngineSettings
    from burst.providers.google.settings import GoogleMachine
    from burst.providers.provider import WantedBurst

MIN_RUN_SECONDS, MAX_RUN_SECONDS = 30, 120 * 86_400
"""What Compute Engine takes as `maxRunDuration`."""
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def request_id(wanted: WantedBurst) -> str:
    """Return what identifies the order to Compute Engine, which serves a second one with it only once.

    It is made from the burst's label, so that its operation is found without a ledger.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{wanted.installation}/{wanted.label}/instances"))


def instance_names(wanted: WantedBurst) -> list[str]:
    """Return the names of all instances, in the order of the slot's hosts."""
    return [f"{name_of(wanted.label)}-{number}" for number in range(wanted.nodes)]


def bulk_insert(
    settings: ComputeEngineSettings,
    machine: GoogleMachine,
    wanted: WantedBurst,
    metadata: Mapping[str, str],
    now: float,
) -> dict[str, Any]:
    """Return the resource of the request, without a policy for zones. Raises CallInvalid if it is late."""
    seconds = math.ceil(wanted.until - now)
    if seconds < 1:
        raise CallInvalid(f"burst {wanted.label} was to end {-seconds} s ago")
    return {
        "count": wanted.nodes,
        "min_count": wanted.nodes,
        "per_instance_properties": {each: {} for each in instance_names(wanted)},
        "instance_properties": {
            "description": f"burst {wanted.label} of {wanted.installation}",
            "machine_type": machine.machine,
            "labels": labels_of(wanted),
            "tags": {"items": list(settings.tags)},
            "disks": [_disk(settings)],
            "network_interfaces": [_interface(settings)],
            "service_accounts": _service_accounts(settings),
            "scheduling": _scheduling(machine, wanted, min(max(seconds, MIN_RUN_SECONDS), MAX_RUN_SECONDS)),
            "guest_accelerators": _accelerators(machine),
            "metadata": {"items": [{"key": key, "value": value} for key, value in metadata.items()]},
        },
    }


def location_policy(settings: ComputeEngineSettings, zones: Sequence[str]) -> dict[str, Any]:
    """Return what keeps a burst in one zone, and out of those of the region that the settings do not have."""
    denied = [each for each in zones if settings.zones and each not in settings.zones]
    return {
        "target_shape": "ANY_SINGLE_ZONE",
        "locations": {f"zones/{each}": {"preference": "DENY"} for each in denied},
    }


def _disk(settings: ComputeEngineSettings) -> dict[str, Any]:
    parameters = {
        "source_image": settings.image_path,
        "disk_size_gb": settings.disk_gb,
        "disk_type": settings.disk_type,
    }
    return {"boot": True, "auto_delete": True, "initialize_params": parameters}


def _interface(settings: ComputeEngineSettings) -> dict[str, Any]:
    network = f"projects/{settings.project}/global/networks/{settings.network}"
    path = settings.subnetwork_path
    found: dict[str, Any] = {"subnetwork": path} if path else {"network": network}
    if settings.external_address:
        found["access_configs"] = [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    return found


def _service_accounts(settings: ComputeEngineSettings) -> list[dict[str, Any]]:
    """Return the account whose rights every job has; none unless one is named."""
    email = settings.instance_service_account
    return [{"email": email, "scopes": [_SCOPE]}] if email else []


def _scheduling(machine: GoogleMachine, wanted: WantedBurst, seconds: int) -> dict[str, Any]:
    """Return what ends an instance by itself; it is not started anew, as its token is good once."""
    is_moved = not (wanted.spot or machine.gpus)
    return {
        "provisioning_model": "SPOT" if wanted.spot else "STANDARD",
        "instance_termination_action": "DELETE",
        "max_run_duration": {"seconds": seconds},
        "automatic_restart": False,
        "on_host_maintenance": "MIGRATE" if is_moved else "TERMINATE",
    }


def _accelerators(machine: GoogleMachine) -> list[dict[str, Any]]:
    if not machine.accelerator:
        return []
    return [{"accelerator_type": machine.accelerator, "accelerator_count": machine.gpus}]
