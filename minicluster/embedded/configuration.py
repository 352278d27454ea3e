"""What a broker reads at its start: broker.toml, the R file and the CURVE certificate.

The file is Flux's own: `[bootstrap]` says who is who, `[resource]` what there is; the rest is the engine's.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import broker_config.curve as curve_text
from broker_config import hostlist, idset
from broker_config.errors import BrokerConfigError
from minicluster.embedded.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.ports import JSON


@dataclass(frozen=True, slots=True)
class Host:
    """One entry of [bootstrap] hosts: `bind` and `connect` are ZeroMQ endpoints, None on plain followers."""

    name: str
    bind: str | None
    connect: str | None


@dataclass(frozen=True, slots=True)
class Certificate:
    """The instance's CURVE key pair, each key 40 Z85 characters."""

    public_key: str
    secret_key: str


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Where this broker stands."""

    rank: int
    hosts: tuple[str, ...]
    bind: str | None  # rank 0 of more than one broker
    connect: str | None  # the lead's endpoint, for followers
    certificate: Certificate | None

    @property
    def size(self) -> int:
        """Return the number of brokers."""
        return len(self.hosts)


def load(path: str | None) -> JSON:
    """Parse a TOML file, or every *.toml of a directory by name; None gives an empty configuration."""
    if path is None:
        return {}
    source = Path(path)
    files = sorted(source.glob("*.toml")) if source.is_dir() else [source]
    merged: JSON = {}
    for file in files:
        try:
            merged.update(tomllib.loads(file.read_text(encoding="utf-8")))
        except OSError as error:
            raise ConfigurationError(f"Config file error: {file}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"Config file error: {file}: {error}") from error
    return merged


def bootstrap(config: JSON, hostname: str) -> Bootstrap | None:
    """Return this broker's place by [bootstrap], or None where the configuration has no such table."""
    table = config.get("bootstrap")
    if table is None:
        return None
    hosts = _hosts(table)
    names = tuple(host.name for host in hosts)
    if not hosts:
        return Bootstrap(0, (hostname,), None, None, None)
    if hostname not in names:
        raise ConfigurationError(
            f"bootstrap: config: Config file error [bootstrap]: {hostname} not found in hosts"
        )
    rank = names.index(hostname)
    if len(hosts) == 1:
        return Bootstrap(0, names, None, None, None)
    lead = hosts[0]
    if lead.bind is None or lead.connect is None:
        raise ConfigurationError(
            f"bootstrap: config: host {lead.name} needs bind and connect (or their default_ forms)"
        )
    return Bootstrap(
        rank,
        names,
        lead.bind if rank == 0 else None,
        lead.connect if rank else None,
        read_certificate(table.get("curve_cert")),
    )


def _hosts(table: Mapping[str, Any]) -> list[Host]:
    port = str(table.get("default_port", ""))
    hosts: list[Host] = []
    for entry in table.get("hosts", []):
        if not isinstance(entry, dict) or not isinstance(entry.get("host"), str):
            raise ConfigurationError(
                f"Config file error [bootstrap]: hosts: {entry!r} is no table with a host"
            )
        try:
            names = hostlist.decode(entry["host"])
        except BrokerConfigError as error:
            raise ConfigurationError(f"Config file error [bootstrap]: hosts: {error}") from error
        for name in names:
            bind = _endpoint(entry.get("bind", table.get("default_bind")), name, port)
            connect = _endpoint(entry.get("connect", table.get("default_connect")), name, port)
            hosts.append(Host(name, bind, connect))
    return hosts


def _endpoint(template: str | None, host: str, port: str) -> str | None:
    return template.replace("%h", host).replace("%p", port) if template else None


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
    """Return R of [resource] (its `path`, or its `config` entries), or None where it names none."""
    table = config.get("resource", {})
    path = table.get("path")
    if path:
        try:
            found: JSON = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigurationError(
                f"Config file error [resource]: path: {path}: {error.strerror}"
            ) from error
        except ValueError as error:
            raise ConfigurationError(
                f"Config file error [resource]: path: {path} is no R: {error}"
            ) from error
    elif table.get("config"):
        found = _described(table["config"], hosts)
    else:
        return None
    count = sum(len(idset.decode(str(entry["rank"]))) for entry in found["execution"]["R_lite"])
    if count < len(hosts):
        raise ConfigurationError(
            f"resource: Number of hosts ({len(hosts)}) is greater than node count ({count})"
        )
    return found


def _described(entries: list[Mapping[str, Any]], hosts: tuple[str, ...]) -> JSON:
    children: dict[str, dict[str, str]] = {host: {} for host in hosts}
    try:
        for entry in entries:
            for host in hostlist.decode(str(entry["hosts"])):
                if host in children:
                    children[host].update({"core": str(entry.get("cores", ""))} if entry.get("cores") else {})
                    children[host].update({"gpu": str(entry["gpus"])} if entry.get("gpus") else {})
    except (KeyError, BrokerConfigError) as error:
        raise ConfigurationError(f"Config file error [resource]: config: {error}") from error
    lite = [
        {"rank": str(rank), "children": children[host]} for rank, host in enumerate(hosts) if children[host]
    ]
    return resource_set(lite, hosts)


def discovered(hosts: tuple[str, ...]) -> JSON:
    """Return R where nothing is configured: every broker has the cores that this process may use."""
    cores = idset.encode(range(len(os.sched_getaffinity(0))))
    return resource_set([{"rank": idset.encode(range(len(hosts))), "children": {"core": cores}}], hosts)


def resource_set(lite: list[JSON], hosts: tuple[str, ...]) -> JSON:
    """Return R (RFC 20) of these R_lite entries."""
    return {
        "version": 1,
        "execution": {
            "R_lite": lite,
            "starttime": 0,
            "expiration": 0,
            "nodelist": [hostlist.encode(hosts)],
        },
    }
