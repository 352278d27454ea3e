"""The ConfigMap with the files that every broker reads: no secret is among them."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING

from broker_config import broker_toml, resource_set, start_script
from minicluster import spec as document
from minicluster.flux_modules import packing
from minicluster.plan import containers, names
from minicluster.plan.constants import START_SCRIPT, Component
from minicluster.plan.labels import metadata
from minicluster.plan.settings import broker_settings, service_settings

if TYPE_CHECKING:
    from broker_config.settings import BrokerSettings
    from minicluster.plan.fields import Object
    from minicluster.plan.records import Site
    from minicluster.spec import MiniCluster


def build(cluster: MiniCluster, site: Site) -> Object:
    """Return the ConfigMap: broker.toml, R, scripts, and what real Flux's lead loads or runs of ours."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(cluster, site, names.config_map(cluster), Component.CONFIGURATION),
        "data": {**_broker_files(cluster, site), **_sidecar_scripts(cluster), **_service_scripts(cluster)},
        **_zips(cluster, site),
    }


def _zips(cluster: MiniCluster, site: Site) -> Object:
    """What real Flux's lead imports of ours, in base64: each where something of it is asked for."""
    zips = {
        packing.ZIP: _modules if site.door or cluster.spec.archive.path else None,
        packing.SCHEDULER_ZIP: _scheduler if _schedules(broker_settings(cluster, site)) else None,
    }
    packed = {name: zipped() for name, zipped in zips.items() if zipped is not None}
    return {"binaryData": packed} if packed else {}


def _schedules(settings: BrokerSettings) -> bool:
    """Whether real Flux may load our scheduler; a user's own broker.toml has the last word there."""
    return bool(settings.scheduler.in_flux) and not settings.broker_toml


def _broker_files(cluster: MiniCluster, site: Site) -> dict[str, str]:
    settings = broker_settings(cluster, site)
    return {
        "broker.toml": broker_toml.render(settings),
        "R": resource_set.render(settings),
        START_SCRIPT: start_script.render(settings),
        **start_script.companion_files(settings),
        **(packing.module_files() if site.door else {}),
        **(packing.scheduler_files() if _schedules(settings) else {}),
    }


@cache
def _modules() -> str:
    return b64encode(packing.pack()).decode()


@cache
def _scheduler() -> str:
    return b64encode(packing.pack_scheduler()).decode()


def _sidecar_scripts(cluster: MiniCluster) -> dict[str, str]:
    return {
        containers.sidecar_script(container): start_script.service_script(
            service_settings(cluster, container, beside_broker=True)
        )
        for container in document.sidecars(cluster.spec)
        if containers.has_script(container)
    }


def _service_scripts(cluster: MiniCluster) -> dict[str, str]:
    return {
        containers.service_script(container): start_script.service_script(
            service_settings(cluster, container, beside_broker=False)
        )
        for container in cluster.spec.services
        if containers.has_script(container)
    }
