"""`broker.toml`: how brokers find each other, what they schedule and by which policy.

Source: flux-config-bootstrap(5), flux-config-resource(5), flux-config-access(5), flux-config-kvs(5),
flux-modprobe(1). The `[minicluster]` table is ours: brokers of flux-core ignore it, the embedded instance
reads it.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import tomli_w

from broker_config import toml_limits
from broker_config.errors import BrokerTomlError, SettingsError
from broker_config.formats import host_ranges, hostlist
from broker_config.formats.hostlist import MAX_HOSTS
from broker_config.settings import FLUXION_POLICIES, BrokerSettings, NetworkSettings, RunMode

if TYPE_CHECKING:
    from broker_config.formats.host_ranges import HostRange

CHECKPOINTS = "1s"
"""The interval of real Flux's checkpoints where state is kept: a lead that is killed loses no more."""

TomlValue: TypeAlias = "str | bool | int | float | Mapping[str, TomlValue] | list[TomlValue]"

TomlTable: TypeAlias = "dict[str, TomlValue]"


NESTED_TABLES = (
    "ingest.validator",
    "modules.alternatives",
    "minicluster.modules",
    "minicluster.modules.door",
    "minicluster.scheduler-settings",
)
"""The tables within tables that may be in the rendered broker.toml."""


class OwnText(NamedTuple):
    """What matters of a user's own broker.toml."""

    tables: Mapping[str, Any]
    hosts: tuple[HostRange, ...]
    """Each host once, in rank order; none where it has no table [bootstrap]."""

    @property
    def is_whole(self) -> bool:
        """Whether it replaces the rendered one; else its tables are merged over those."""
        return "bootstrap" in self.tables


def render(settings: BrokerSettings) -> str:
    """Return the text of broker.toml, the same for every broker.

    `settings.broker_toml` replaces it where that has a table [bootstrap]; else its tables are merged over
    those made here, and what it says holds. Raises SettingsError if two hosts have one name (a broker finds
    its rank by it), and BrokerTomlError if the user's own text is invalid.
    """
    own_text = own(settings.broker_toml)
    if own_text.is_whole:
        return _with_lead_api(settings, own_text)
    if not own_text.tables:
        return tomli_w.dumps(tables(settings))
    # Lists are not indented: a text of many brackets would grow much.
    return tomli_w.dumps(_merged(tables(settings), own_text.tables), indent=0)


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return both tables as one; a value of `over` replaces one of `under`, a table is merged."""
    both = {
        key: _merged(value, over[key])
        if isinstance(value, dict) and isinstance(over[key], dict)
        else over[key]
        for key, value in under.items()
        if key in over
    }
    return {**under, **over, **both}


def replaces(settings: BrokerSettings) -> bool:
    """Whether the user's own broker.toml is used in place of the rendered one. Raises BrokerTomlError."""
    return own(settings.broker_toml).is_whole


def names_queues(settings: BrokerSettings) -> bool:
    """Whether the user's own broker.toml names queues. Raises BrokerTomlError."""
    return bool(own(settings.broker_toml).tables.get("queues"))


def tables(settings: BrokerSettings) -> TomlTable:
    """Return the tables of broker.toml, in the order in which they are written."""
    result: TomlTable = {
        # One user and no setuid helper: the instance's owner is the user that runs the pod.
        "access": {"allow-guest-user": True, "allow-root-owner": True},
        "bootstrap": _bootstrap(settings),
        # In containers, core counts and host names differ from the ones given here.
        "resource": {"path": settings.resources_path, "noverify": True},
    }
    if settings.keeps_state or settings.archive.path:
        # Else real Flux notes where its data begins only at its normal end: a lead that is killed would
        # start with no data, also if it is killed while it saves.
        result["kvs"] = {"checkpoint-period": CHECKPOINTS}
    scheduler = settings.scheduler
    if scheduler.policy in FLUXION_POLICIES:
        result["sched-fluxion-qmanager"] = {"queue-policy": scheduler.policy}
    if scheduler.simple:
        result["modules"] = {"alternatives": {"sched": "sched-simple", "feasibility": "sched-simple"}}
    ours: TomlTable = {"queue-policy": scheduler.bare_policy}
    if scheduler.in_flux:
        # With this key modprobe loads our scheduler; jobs that can never start are refused at submission.
        result["ingest"] = {"validator": {"plugins": ["jobspec", "feasibility"]}}
        ours["flux-scheduler"] = scheduler.in_flux
    if scheduler.settings:
        ours["scheduler-settings"] = {key: _value(key, it) for key, it in scheduler.settings.items()}
    return {**result, "minicluster": ours | _modules(settings)}


def _modules(settings: BrokerSettings) -> TomlTable:
    """Return the table `modules` of [minicluster]: a table for each module of the lead, with its settings."""
    if settings.lead_api is None:
        return {}
    marks = settings.run_mode in (RunMode.PLAIN, RunMode.BATCH)
    lead_api = settings.lead_api
    table: TomlTable = {"port": lead_api.port, "directory": lead_api.directory, "main-job": marks}
    table["min-size"] = lead_api.min_size
    if lead_api.tokens:
        table["tokens"] = lead_api.tokens
    if lead_api.metrics_tls:
        table["metrics-tls"] = lead_api.metrics_tls
        # The MiniCluster and Service whose metrics the API server may request there.
        network = settings.network
        table |= {"namespace": network.namespace, "name": settings.name, "service": network.service}
    if settings.archive.path:
        table["archive"] = settings.archive.path
    return {"modules": {"door": table}}


def _with_lead_api(settings: BrokerSettings, known: OwnText) -> str:
    """Return a user's own broker.toml, with the lead API's table appended if TOML allows that."""
    text = settings.broker_toml
    if settings.lead_api is None:
        return text
    extended = f"{text.rstrip()}\n\n{tomli_w.dumps({'minicluster': _modules(settings)})}"
    if "minicluster" in known.tables:
        try:
            tomllib.loads(extended)
        except tomllib.TOMLDecodeError:
            return text
    return extended


def check(text: str) -> None:
    """Raise BrokerTomlError, with the position, if no broker could start from a user's own broker.toml.

    Also if the text is larger or deeper than `toml_limits` allows, or lists more than MAX_HOSTS hosts. These
    are checked before the text is parsed, and before a name is made.
    """
    own(text)


# A text is read when its document is checked, and again when its files are written.
@lru_cache(maxsize=2)
def own(text: str) -> OwnText:
    """Return what matters of a user's own broker.toml (empty: there is none), after a `check` of the text."""
    found = _parsed(text)
    if "bootstrap" in found:
        return OwnText(found, _bootstrap_hosts(found["bootstrap"]))
    toml_limits.check_partial(text)
    _check_tables(found)
    return OwnText(found, ())


def _check_tables(found: Mapping[str, Any]) -> None:
    """Raise BrokerTomlError where what is to be merged has another value in place of a table."""
    for path in (*found, *NESTED_TABLES):
        value: Any = found
        for key in (path,) if path in found else path.split("."):
            value = value.get(key, {})
            if not isinstance(value, dict):
                raise BrokerTomlError(f"broker.toml: {path[:64]!r} must be a table, as in [queues.debug]")
    try:
        tomli_w.dumps(found, indent=0)
    except ValueError as error:
        raise _long_number() from error


def _bootstrap_hosts(bootstrap: object) -> tuple[HostRange, ...]:
    """Return the hosts of a table [bootstrap], in the order of ranks. Raises BrokerTomlError."""
    if not isinstance(bootstrap, dict):
        raise BrokerTomlError("broker.toml: 'bootstrap' must be a table, as in [bootstrap]")
    # A host may be listed again, to give it a parent: its first position is its rank.
    found = tuple(host_ranges.distinct(_listed(bootstrap)))
    if not found:
        raise BrokerTomlError(
            "broker.toml: [bootstrap] hosts is empty: list the brokers' hosts, the lead first"
        )
    if host_ranges.total(found) > 1 and not isinstance(bootstrap.get("curve_cert"), str):
        raise BrokerTomlError("broker.toml: [bootstrap] curve_cert is missing: it is the certificate's path")
    return found


def _parsed(text: str) -> dict[str, Any]:
    toml_limits.check(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BrokerTomlError(f"broker.toml is not TOML: {error}") from error
    except ValueError as error:
        raise _long_number() from error


def _long_number() -> BrokerTomlError:
    return BrokerTomlError(f"broker.toml: a number of more than {sys.get_int_max_str_digits()} digits")


def _bootstrap(settings: BrokerSettings) -> dict[str, TomlValue]:
    hosts = settings.host_ranges
    if twice := host_ranges.repeated(hosts):
        raise SettingsError(f"host {twice} is listed twice: a broker's rank is the place of its host name")
    network = settings.network
    result: dict[str, TomlValue] = {"curve_cert": settings.curve_path}
    if network.endpoints is None:
        result |= {
            "default_port": network.port,
            "default_bind": "tcp://*:%p",
            "default_connect": f"tcp://%h.{network.suffix}:%p",
        }
    explicit = _explicit(settings, network, hosts)
    return {**result, "hosts": list(_entries(hosts, explicit))}


def _explicit(
    settings: BrokerSettings, network: NetworkSettings, hosts: tuple[HostRange, ...]
) -> dict[str, tuple[str, str]]:
    """Return the hosts whose endpoints are not the default ones: (bind, connect) by name."""
    lead = settings.bursting.lead
    if network.endpoints is not None:
        return {each.host: (each.bind, each.connect) for each in network.endpoints}
    if lead is not None:
        return {lead.address: ("tcp://*:%p", f"tcp://{lead.address}:{lead.port}")}
    if network.minimal:
        return {next(hosts[0].names()): ("tcp://*:%p", f"tcp://{network.suffix}:%p")}
    return {}


def _entries(hosts: Iterable[HostRange], explicit: Mapping[str, tuple[str, str]]) -> Iterator[TomlValue]:
    """Return host entries in rank order. Consecutive hosts without endpoints of their own share one."""
    run: list[HostRange] = []
    for each in host_ranges.apart(hosts, explicit):
        host = next(each.names())
        if host not in explicit:
            run.append(each)
            continue
        if run:
            yield {"host": hostlist.encode_ranges(run)}
            run = []
        bind, connect = explicit[host]
        yield {"host": host, "bind": bind, "connect": connect}
    if run:
        yield {"host": hostlist.encode_ranges(run)}


def _listed(bootstrap: Mapping[str, object]) -> Iterator[HostRange]:
    """Yield the hosts of all entries. Raises BrokerTomlError, for too many before they are made."""
    entries = bootstrap.get("hosts", [])
    if not isinstance(entries, list):
        raise BrokerTomlError(
            'broker.toml: [bootstrap] hosts must be a list of tables like { host = "mc-[0-3]" }'
        )
    total = 0
    for number, entry in enumerate(entries, 1):
        ranges = _hosts(number, entry)
        total += host_ranges.total(ranges)
        if total > MAX_HOSTS:
            raise BrokerTomlError(f"broker.toml: [bootstrap] hosts lists more than {MAX_HOSTS} hosts")
        yield from ranges


def _hosts(number: int, entry: object) -> list[HostRange]:
    host = entry.get("host") if isinstance(entry, dict) else None
    if not isinstance(host, str):
        raise BrokerTomlError(f'broker.toml: [bootstrap] hosts, entry {number}: there is no host = "…" in it')
    try:
        return hostlist.ranges(host)
    except ValueError as error:
        raise BrokerTomlError(f"broker.toml: [bootstrap] hosts, entry {number}: {error}") from error


def _value(key: str, value: object) -> TomlValue:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_value(key, each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _value(key, each) for name, each in value.items()}
    raise SettingsError(f"flux.scheduler.settings.{key}: {value!r} cannot be written in TOML")
