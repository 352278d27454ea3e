"""Texts inside the document that have a language of their own: hostlists, TOML, certificates, policies.

The parsers are those that the brokers' files are made and read with.
"""

from __future__ import annotations

import difflib
import importlib
import warnings
from typing import TYPE_CHECKING, Any

from broker_config import broker_toml
from broker_config.errors import BrokerConfigError
from broker_config.formats import hostlist
from broker_config.formats.errors import ParseError
from broker_config.settings import FLUXION_POLICIES
from queue_policies.errors import PluginWarning, PolicyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from minicluster.document.cluster import MiniCluster
    from minicluster.document.positions import Path

OURS = "minicluster/"
_BURSTING: Path = ("spec", "flux", "bursting")


def hostlist_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Say what is wrong with the list of remote hosts."""
    text = cluster.spec.flux.bursting.hostlist
    if not text:
        return
    try:
        hostlist.count(text)
    except ParseError as error:
        yield (*_BURSTING, "hostlist"), str(error)


def certificate_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Say what is wrong with the CURVE certificate, without quoting it."""
    text = cluster.spec.flux.curve_cert
    if not text:
        return
    # ZeroMQ is loaded for this only, and few documents bring a certificate.
    curve = importlib.import_module("broker_config.curve")
    try:
        curve.decode(text)
    except BrokerConfigError as error:
        yield ("spec", "flux", "curveCert"), str(error)


def toml_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Say what is wrong with the broker configuration."""
    text = cluster.spec.flux.broker_config
    if not text:
        return
    try:
        broker_toml.check(text)
    except BrokerConfigError as error:
        yield ("spec", "flux", "brokerConfig"), str(error)


def policy_problems(cluster: MiniCluster) -> Iterator[tuple[Path, str]]:
    """Say so where nobody has a policy of that name, or where ours does not know a setting."""
    name = cluster.spec.flux.scheduler.queue_policy
    path: Path = ("spec", "flux", "scheduler")
    if name in ("", *FLUXION_POLICIES):
        return
    registry = _plugins().registry()
    known = _names(registry.policies)
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
    """Say which setting a policy of ours does not know."""
    try:
        _plugins().load(name.removeprefix(OURS), settings)
    except PolicyError as error:
        yield ("spec", "flux", "scheduler", "settings"), str(error)


def _plugins() -> Any:
    """Return the door to the policies; only documents that ask for one of ours open it."""
    return importlib.import_module("queue_policies.plugins")


def _names(ours: Iterable[str]) -> tuple[str, ...]:
    """Return every name that `queuePolicy` may have: Fluxion's, and ours with and without `minicluster/`."""
    return tuple(dict.fromkeys((*FLUXION_POLICIES, *ours, *(f"{OURS}{name}" for name in ours))))
