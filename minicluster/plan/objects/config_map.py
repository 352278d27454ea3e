"""The ConfigMap with the files that every broker reads; it has no secrets."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from broker_config import broker_toml, instance_resources, start_script
from broker_config.errors import SettingsError
from minicluster import document, flux_zips
from minicluster.plan.constants import START_SCRIPT, Component
from minicluster.plan.objects import containers, names, shared_flux_files
from minicluster.plan.objects.labels import metadata
from minicluster.plan.objects.settings import broker_settings, service_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from broker_config.settings import BrokerSettings
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site

MAX_BYTES = 1_048_576
"""Bytes of all files of a ConfigMap: Kubernetes stores no more."""


def build(cluster: MiniCluster, site: Site, *, with_zips: bool) -> Object:
    """Return the ConfigMap: broker.toml, R, scripts, and the files for real Flux's lead.

    `with_zips`: also the zips, where the pods do not mount those of their namespace. Raises SettingsError if
    they are more than an API server stores; on a machine they are files.
    """
    needed = zips(cluster, site) if with_zips else {}
    packed = {name: shared_flux_files.encoded(make()) for name, make in needed.items()}
    files = chain(_broker_files(cluster, site).items(), _sidecar_scripts(cluster), _service_scripts(cluster))
    limit = MAX_BYTES - sum(len(each) // 4 * 3 for each in packed.values())
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(cluster, site, names.config_map(cluster), Component.CONFIGURATION),
        "data": _bounded(files, limit) if site.endpoints is None else dict(files),
        **({"binaryData": packed} if packed else {}),
    }


def zips(cluster: MiniCluster, site: Site) -> dict[str, Callable[[], bytes]]:
    """Return what makes the zips that this MiniCluster's lead needs where it is real Flux, by their names."""
    needed: dict[str, Callable[[], bytes]] = {}
    fences = broker_settings(cluster, site).bursting.joins
    if site.lead_api or cluster.spec.archive.path or _routes_bursts(cluster) or fences:
        needed[flux_zips.ZIP] = site.flux_files.lead_zip
    if _schedules(broker_settings(cluster, site)):
        needed[flux_zips.SCHEDULER_ZIP] = site.flux_files.scheduler_zip
    return needed


def _bounded(files: Iterable[tuple[str, str]], limit: int) -> dict[str, str]:
    """Return the files. Raises SettingsError at the first that is too much, before the others are written."""
    made: dict[str, str] = {}
    size = 0
    for name, text in files:
        made[name] = text
        size += len(text.encode(errors="surrogatepass"))
        if size > limit:
            large = max(made, key=lambda each: len(made[each]))
            raise SettingsError(
                f"its ConfigMap has room for {limit} bytes of files, and they are larger; the largest is"
                f" {large}: shorten commands, scripts, or flux.environment, which each script has"
            )
    return made


def _schedules(settings: BrokerSettings) -> bool:
    """Whether real Flux may load our scheduler; with a whole broker.toml of the user's it does not."""
    return bool(settings.scheduler.in_flux) and not broker_toml.replaces(settings)


def _routes_bursts(cluster: MiniCluster) -> bool:
    """Whether real Flux routes jobs at their submission: where a service manages the bursts."""
    return cluster.spec.bursting is not None


def _broker_files(cluster: MiniCluster, site: Site) -> dict[str, str]:
    settings = broker_settings(cluster, site)
    return {
        "broker.toml": broker_toml.render(settings),
        "R": instance_resources.render(settings),
        START_SCRIPT: start_script.render(settings),
        **start_script.companion_files(settings),
        **(site.flux_files.lead_texts() if site.lead_api else {}),
        **(site.flux_files.scheduler_texts() if _schedules(settings) else {}),
        **(site.flux_files.burst_texts() if _routes_bursts(cluster) else {}),
    }


def _sidecar_scripts(cluster: MiniCluster) -> Iterator[tuple[str, str]]:
    for container in document.sidecars(cluster.spec):
        if containers.has_script(container):
            settings = service_settings(cluster, container, beside_broker=True)
            yield containers.sidecar_script(container), start_script.service_script(settings)


def _service_scripts(cluster: MiniCluster) -> Iterator[tuple[str, str]]:
    for container in cluster.spec.services:
        if containers.has_script(container):
            settings = service_settings(cluster, container, beside_broker=False)
            yield containers.service_script(container), start_script.service_script(settings)
