"""The ConfigMap with the files that every broker reads; it has no secrets."""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING

from broker_config import broker_toml, instance_resources, start_script
from minicluster import document, flux_zips
from minicluster.plan.constants import START_SCRIPT, Component
from minicluster.plan.objects import containers, names
from minicluster.plan.objects.labels import metadata
from minicluster.plan.objects.settings import broker_settings, service_settings

if TYPE_CHECKING:
    from broker_config.settings import BrokerSettings
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> Object:
    """Return the ConfigMap: broker.toml, R, scripts, and the files for real Flux's lead."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(cluster, site, names.config_map(cluster), Component.CONFIGURATION),
        "data": {**_broker_files(cluster, site), **_sidecar_scripts(cluster), **_service_scripts(cluster)},
        **_zips(cluster, site),
    }


def _zips(cluster: MiniCluster, site: Site) -> Object:
    """Return the zips that real Flux's lead imports, in base64, each only if the document needs it."""
    packed: dict[str, str] = {}
    if site.lead_api or cluster.spec.archive.path:
        packed[flux_zips.ZIP] = _base64(site.flux_files.lead_zip())
    if _schedules(broker_settings(cluster, site)):
        packed[flux_zips.SCHEDULER_ZIP] = _base64(site.flux_files.scheduler_zip())
    return {"binaryData": packed} if packed else {}


def _schedules(settings: BrokerSettings) -> bool:
    """Whether real Flux may load our scheduler; with a user's own broker.toml it does not."""
    return bool(settings.scheduler.in_flux) and not settings.broker_toml


def _broker_files(cluster: MiniCluster, site: Site) -> dict[str, str]:
    settings = broker_settings(cluster, site)
    return {
        "broker.toml": broker_toml.render(settings),
        "R": instance_resources.render(settings),
        START_SCRIPT: start_script.render(settings),
        **start_script.companion_files(settings),
        **(site.flux_files.lead_texts() if site.lead_api else {}),
        **(site.flux_files.scheduler_texts() if _schedules(settings) else {}),
    }


@lru_cache(maxsize=4)
def _base64(packed: bytes) -> str:
    return b64encode(packed).decode()


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
