"""Reads the files of a broker's start: broker.toml, the R file and the CURVE certificate.

broker.toml has Flux's tables `[bootstrap]` (hosts and ranks) and `[resource]`, and tables of this engine.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import broker_config.curve as curve_text
from broker_config.errors import BrokerConfigError
from broker_config.formats import resource_set
from broker_config.formats.bootstrap import endpoint, names_of
from broker_config.formats.errors import BootstrapError
from minicluster.embedded.errors import ConfigurationError
from minicluster.embedded.settings import configured

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.ports import JSON


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Certificate:
    """The instance's CURVE key pair, each key 40 Z85 characters."""

    public_key: str
    secret_key: str


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """This broker's rank, its instance's hosts, and how it reaches them."""

    rank: int
    hosts: tuple[str, ...]
    bind: str | None
    """The endpoint on which the lead of several brokers listens."""
    connect: str | None
    """The lead's endpoint, for followers."""
    certificate: Certificate | None
    named: bool = False
    """Whether brokers know themselves by these names; else they are those of an outer instance."""

    @property
    def size(self) -> int:
        """Return the number of brokers."""
        return len(self.hosts)


def load(path: str | None) -> JSON:
    """Parse a TOML file; None gives an empty configuration."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except OSError as error:
        raise ConfigurationError(f"Config file error: {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Config file error: {path}: {error}") from error


def _checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except BootstrapError as error:
        raise ConfigurationError(str(error)) from error


def bootstrap(config: JSON, hostname: str) -> Bootstrap | None:
    """Return what [bootstrap] defines for this broker, or None where the configuration has no such table."""
    table = config.get("bootstrap")
    if table is None:
        return None
    names = _checked(partial(names_of, table))
    if not names:
        return Bootstrap(0, (hostname,), None, None, None)
    if hostname not in names:
        raise ConfigurationError(
            f"bootstrap: config: Config file error [bootstrap]: {hostname} not found in hosts"
        )
    rank = names.index(hostname)
    if len(names) == 1:
        return Bootstrap(0, names, None, None, None)
    bind, connect = (_checked(partial(endpoint, table, key, names[0])) for key in ("bind", "connect"))
    certificate = read_certificate(table.get("curve_cert"))
    return Bootstrap(rank, names, None if rank else bind, connect if rank else None, certificate, named=True)


def order_timeout(config: JSON) -> float:
    """Return the seconds for a malleable program to answer an order, and for a new worker to join."""
    name = "broker.toml, [minicluster] order-timeout"
    seconds = configured(config.get("minicluster", {}).get("order-timeout", "60s"), name)
    if not seconds:
        raise ConfigurationError(f"{name}: it must be more than 0 s, and not none")
    return seconds


def read_certificate(path: str | None) -> Certificate:
    """Read `[bootstrap] curve_cert`, which only its owner may be able to read."""
    if not path:
        raise ConfigurationError(
            "Config file error [bootstrap]: curve_cert is missing: name the CURVE certificate file"
        )
    problem = f"Error loading certificate: {path}"
    try:
        with Path(path).open(encoding="utf-8") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise ConfigurationError(f"{problem}: readable by group/other; its mode must be 0400 or 0600")
            text = file.read()
    except OSError as error:
        raise ConfigurationError(f"{problem}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{problem}: {error}") from error
    try:
        pair = curve_text.decode(text)
    except BrokerConfigError as error:
        raise ConfigurationError(f"{problem}: {error}") from error
    return Certificate(pair.public, pair.secret)


def resources(config: JSON, hosts: tuple[str, ...]) -> JSON | None:
    """Return R of [resource] path, or None where there is none."""
    path = config.get("resource", {}).get("path")
    if not path:
        return None
    problem = f"Config file error [resource]: path: {path}"
    try:
        found: JSON = json.loads(Path(path).read_text(encoding="utf-8"))
        count = len(resource_set.ranks_of(found))
    except OSError as error:
        raise ConfigurationError(f"{problem}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{problem} is no R: {error}") from error
    if count < len(hosts):
        raise ConfigurationError(
            f"resource: Number of hosts ({len(hosts)}) is greater than node count ({count})"
        )
    return found


def discovered(hosts: tuple[str, ...]) -> JSON:
    """Return R where nothing is configured: every broker has the cores that this process may use."""
    return resource_set.to_dict(resource_set.alike(hosts, len(os.sched_getaffinity(0))))
