"""Under which name the lead of a MiniCluster is found, by the MiniCluster alone: no right to read pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object


def has_lead(item: Object) -> bool:
    """Whether one of a MiniCluster's own brokers leads: with a `leadBroker` all of them follow another's."""
    flux = (item.get("spec") or {}).get("flux") or {}
    return not ((flux.get("bursting") or {}).get("leadBroker") or {}).get("address")


def lead_host(item: Object) -> str:
    """Return the DNS name of the lead's pod; empty where there is none.

    A minimal Service (`spec.flux.minimalService`) has no names for pods, and leads to the lead. With a
    `leadBroker` the lead is another MiniCluster's. Who makes a MiniCluster chooses that name; it is
    the lead's certificate that proves whose it is.
    """
    spec, metadata = item.get("spec") or {}, item["metadata"]
    flux = spec.get("flux") or {}
    if not has_lead(item):
        return ""
    name = str(metadata["name"])
    service = (spec.get("network") or {}).get("headlessName") or name
    pod = "" if flux.get("minimalService") else f"{name}-0."
    return f"{pod}{service}.{metadata['namespace']}.svc"
