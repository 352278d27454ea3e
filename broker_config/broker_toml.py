"""`broker.toml`: how brokers find each other, what they schedule and by which policy.

Source: flux-config-bootstrap(5), flux-config-resource(5), flux-config-access(5), flux-config-kvs(5),
flux-modprobe(1). The `[minicluster]` table is ours: brokers of flux-core ignore it, the embedded instance
reads it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import tomli_w

from broker_config import burst_queues, bypass, own_toml
from broker_config.errors import SettingsError
from broker_config.formats import host_ranges, hostlist
from broker_config.scheduler_settings import FLUXION_POLICIES
from broker_config.settings import BrokerSettings, NetworkSettings, RunMode

if TYPE_CHECKING:
    from broker_config.formats.host_ranges import HostRange
    from broker_config.scheduler_settings import SchedulerSettings

CHECKPOINTS = "1s"
"""The interval of real Flux's checkpoints where state is kept: a lead that is killed loses no more."""

TomlValue: TypeAlias = "str | bool | int | float | Mapping[str, TomlValue] | list[TomlValue]"

TomlTable: TypeAlias = "dict[str, TomlValue]"


def render(settings: BrokerSettings) -> str:
    """Return the text of broker.toml, the same for every broker.

    `settings.broker_toml` replaces it where that has a table [bootstrap]; else its tables are merged over
    those made here, and what it says holds. Raises SettingsError if two hosts have one name (a broker finds
    its rank by it), and BrokerTomlError if the user's own text is invalid.
    """
    own_text = own_toml.own(settings.broker_toml)
    if own_text.is_whole:
        return _with_lead_api(settings, own_text)
    if not own_text.tables:
        return tomli_w.dumps(tables(settings))
    kept = bypass.kept(settings, burst_queues.kept_local(settings, own_text.tables))
    # Lists are not indented: a text of many brackets would grow much.
    return tomli_w.dumps(_merged(tables(settings), kept), indent=0)


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
    return own_toml.own(settings.broker_toml).is_whole


def names_queues(settings: BrokerSettings) -> bool:
    """Whether the user's own broker.toml names queues. Raises BrokerTomlError."""
    return bool(own_toml.own(settings.broker_toml).tables.get("queues"))


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
        ours["scheduler-settings"] = _table("settings", scheduler.settings)
    ours |= _placement(scheduler)
    of_bursts = {**burst_queues.tables(settings), **bypass.tables(settings)}
    return _merged({**result, "minicluster": ours | _modules(settings)}, of_bursts)


def _placement(scheduler: SchedulerSettings) -> TomlTable:
    """Return the keys of [minicluster] by which nodes and cores are chosen, as far as any are set."""
    table: TomlTable = {}
    if scheduler.bare_placement:
        table["placement"] = scheduler.bare_placement
    if scheduler.placement_settings:
        table["placement-settings"] = _table("placementSettings", scheduler.placement_settings)
    if scheduler.affinity:
        table["affinity"] = scheduler.affinity
    return table


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
    if settings.bursting.managed:
        table["bursting"] = True
    if settings.bursting.gives_certificate:
        table["curve-certificate"] = settings.curve_path
    return {"modules": {"door": table}}


def _with_lead_api(settings: BrokerSettings, known: own_toml.OwnText) -> str:
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
    first = next(hosts[0].names())
    if lead is not None:
        return {first: ("tcp://*:%p", f"tcp://{lead.address}:{lead.port}")}
    if network.minimal:
        return {first: ("tcp://*:%p", f"tcp://{network.suffix}:%p")}
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


def _table(field: str, values: Mapping[str, object]) -> TomlTable:
    """Return a table of the settings in `flux.scheduler.<field>`. Raises SettingsError."""
    return {key: _value(f"{field}.{key}", value) for key, value in values.items()}


def _value(key: str, value: object) -> TomlValue:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_value(key, each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _value(key, each) for name, each in value.items()}
    raise SettingsError(f"flux.scheduler.{key}: {value!r} cannot be written in TOML")
