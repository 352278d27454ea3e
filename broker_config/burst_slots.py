"""Slots: the hosts that bursts may fill, declared before they exist."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import host_ranges
from broker_config.formats.burst_names import BURST, DEFAULT_QUEUE, LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_config.formats.host_ranges import HostRange

_SLOT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?-")
"""Names that properties, queues and pods can have."""
RESERVED = frozenset((DEFAULT_QUEUE, LOCAL, BURST))


class HostSlot(NamedTuple):
    """The hosts of one burst; its name is also that of a property of theirs, and of a queue."""

    name: str
    first_rank: int
    size: int
    """How many hosts it has."""
    cores: int | None
    """Of each host; None: as many as the MiniCluster's own."""
    gpus: int | None
    """Of each host; None: as many as the MiniCluster's own."""
    prefix: str
    """Its hosts are this and a number from 0: `<name>-`, but where a list of hosts has a reserved name."""

    @property
    def ranks(self) -> range:
        """The ranks of its hosts."""
        return range(self.first_rank, self.first_rank + self.size)


def usable_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of slots, `burst-<index>` in place of those that are empty, reserved or there before.

    Of an index that is another slot's already, the next free one is taken.
    """
    found: list[str] = []
    for index, name in enumerate(names):
        if name and name not in RESERVED and name not in found:
            found.append(name)
        else:
            found.append(next(free for n in count(index) if (free := f"{BURST}-{n}") not in found))
    return tuple(found)


def of_hostlist(own: Iterable[HostRange], listed: Iterable[HostRange]) -> tuple[HostSlot, ...]:
    """Return the slot of a list of hosts: what comes behind the own ones.

    There is none unless that list begins with all own hosts, in order, and the rest is one prefix that ends
    with `-`, with numbers from 0.
    """
    ours, everyone = _joined(own), _joined(listed)
    rest = everyone[len(ours) :]
    if everyone[: len(ours)] != ours or not rest:
        return ()
    prefix, size = rest[0].prefix, host_ranges.total(rest)
    if not _SLOT.fullmatch(prefix) or rest != list(host_ranges.numbered(prefix, range(size))):
        return ()
    (name,) = usable_names((prefix[:-1],))
    return (HostSlot(name, host_ranges.total(ours), size, None, None, prefix),)


def _joined(ranges: Iterable[HostRange]) -> list[HostRange]:
    """Return the same hosts with neighbours in one range."""
    found: list[HostRange] = []
    for each in ranges:
        before = found[-1] if found else None
        if before and before.digits and each == before._replace(first=before.last + 1, last=each.last):
            found[-1] = before._replace(last=each.last)
        else:
            found.append(each)
    return found
