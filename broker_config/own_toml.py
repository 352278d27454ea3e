"""A broker.toml of the user's own: what of it matters, and whether a broker could start from it."""

from __future__ import annotations

import sys
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import tomli_w

from broker_config import toml_limits
from broker_config.errors import BrokerTomlError
from broker_config.formats import host_ranges, hostlist
from broker_config.formats.hostlist import MAX_HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_config.formats.host_ranges import HostRange

NESTED_TABLES = (
    "ingest.validator",
    "ingest.frobnicator",
    "policy.jobspec",
    "policy.jobspec.defaults",
    "policy.jobspec.defaults.system",
    "modules.alternatives",
    "minicluster.modules",
    "minicluster.modules.door",
    "minicluster.scheduler-settings",
    "minicluster.bursting",
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
