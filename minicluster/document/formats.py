"""Checks texts of the document that have a format of their own: hostlists, TOML, certificates, policies.

The parsers are those by which the brokers' files are made and read.
"""

from __future__ import annotations

import difflib
import importlib
import ipaddress
import warnings
from typing import TYPE_CHECKING, Any

from broker_config import curve, own_toml
from broker_config.errors import BrokerConfigError
from broker_config.formats import hostlist
from broker_config.formats.errors import ParseError
from broker_config.scheduler_settings import DEFAULT_PLACEMENT, FLUXION_POLICIES, OURS
from queue_policies.errors import PluginWarning, PolicyError, PolicySettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.document.cluster import MiniCluster
    from minicluster.document.positions import Path

_BURSTING: Path = ("spec", "flux", "bursting")


def hostlist_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with the list of remote hosts."""
    text = cluster.spec.flux.bursting.hostlist
    if not text:
        return
    try:
        hostlist.count(text)
    except ParseError as error:
        yield (*_BURSTING, "hostlist"), str(error)


def source_range_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield which ranges of addresses name an address within them, as Kubernetes would refuse."""
    policy = cluster.spec.bursting
    for index, text in enumerate(policy.source_ranges if policy else ()):
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            yield ("spec", "bursting", "sourceRanges", index), _range_problem(text, error)


def _range_problem(text: str, error: ValueError) -> str:
    try:
        return f"{error}; right would be {ipaddress.ip_network(text, strict=False)}"
    except ValueError:
        return str(error)


def certificate_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with the CURVE certificate, without quoting it."""
    text = cluster.spec.flux.curve_cert
    if not text:
        return
    try:
        curve.decode(text)
    except BrokerConfigError as error:
        yield ("spec", "flux", "curveCert"), str(error)


def toml_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with the broker configuration."""
    text = cluster.spec.flux.broker_config
    if not text:
        return
    try:
        own_toml.check(text)
    except BrokerConfigError as error:
        yield ("spec", "flux", "brokerConfig"), str(error)


def policy_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield a problem if there is no policy of that name, or if one of ours does not know a setting."""
    name = cluster.spec.flux.scheduler.queue_policy
    path: Path = ("spec", "flux", "scheduler")
    if name in ("", *FLUXION_POLICIES):
        return
    registry = _plugins().registry()
    known = _names(registry.classes)
    if name in known:
        for text in registry.warnings:
            warnings.warn(text, PluginWarning, stacklevel=1)
        yield from _setting_problems(name, cluster.spec.flux.scheduler.settings)
        return
    near = difflib.get_close_matches(name, known, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"
    wrong = "; ".join((f'no policy is called "{name}"; {hint}', *(each.text for each in registry.unknown)))
    yield (*path, "queuePolicy"), registry.failure(name.removeprefix(OURS)) or wrong


def _setting_problems(name: str, settings: Mapping[str, object]) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with the settings of a policy of ours."""
    try:
        _plugins().load(name.removeprefix(OURS), settings)
    except PolicyError as error:
        yield ("spec", "flux", "scheduler", "settings"), str(error)


def placement_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Yield a problem if there is no placement of that name, or if it does not know a setting."""
    scheduler = cluster.spec.flux.scheduler
    path: Path = ("spec", "flux", "scheduler")
    if not (scheduler.placement or scheduler.placement_settings or scheduler.affinity):
        return
    name = scheduler.placement.removeprefix(OURS) or DEFAULT_PLACEMENT
    load = importlib.import_module("queue_policies.placement.plugins").load
    found: list[str] = []
    try:
        load(name, scheduler.placement_settings, found.append)
    except PolicySettings as error:
        yield (*path, "placementSettings"), str(error)
    except PolicyError as error:
        yield (*path, "placement"), str(error)
    else:
        for text in found:
            warnings.warn(text, PluginWarning, stacklevel=1)
        yield from _affinity_problems(load, name, scheduler.affinity)


def _affinity_problems(load: Any, name: str, affinity: str) -> Iterator[tuple[Path, str]]:
    try:
        load(name, {"affinity": affinity} if affinity else {})
    except PolicyError as error:
        yield ("spec", "flux", "scheduler", "affinity"), str(error)


def _plugins() -> Any:
    """Return `queue_policies.plugins`, imported only for documents with a policy of ours."""
    return importlib.import_module("queue_policies.plugins")


def _names(ours: Iterable[str]) -> tuple[str, ...]:
    """Return every name that `queuePolicy` may have: Fluxion's, and ours with and without `minicluster/`."""
    return tuple(dict.fromkeys((*FLUXION_POLICIES, *ours, *(f"{OURS}{name}" for name in ours))))
