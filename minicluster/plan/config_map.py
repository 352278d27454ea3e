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
        **({"binaryData": {packing.ZIP: _modules()}} if site.door or cluster.spec.archive.path else {}),
    }


def _broker_files(cluster: MiniCluster, site: Site) -> dict[str, str]:
    settings = broker_settings(cluster, site)
    return {
        "broker.toml": broker_toml.render(settings),
        "R": resource_set.render(settings),
        START_SCRIPT: start_script.render(settings),
        **start_script.companion_files(settings),
        **(packing.module_files() if site.door else {}),
    }


@cache
def _modules() -> str:
    return b64encode(packing.pack()).decode()


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
