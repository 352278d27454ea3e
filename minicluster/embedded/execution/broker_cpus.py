"""The CPUs that a broker may use, by the kernel's numbers, and their NUMA domains: sent when it joins.

Source of the domains: the kernel's Documentation/ABI/stable/sysfs-devices-node.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import idset
from broker_config.formats.errors import IdsetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DOMAINS = Path("/sys/devices/system/node")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class BrokerCpus(NamedTuple):
    """The CPUs that a broker may use."""

    machine: str
    """Identifies the machine: brokers on the same one may share CPUs."""
    cpus: tuple[int, ...]
    """Ascending."""
    domains: tuple[tuple[int, ...], ...] = ()
    """The CPUs of each NUMA domain; (): there is one."""

    def fields(self) -> dict[str, Any]:
        """Return what the message of a broker that joins has of them."""
        domains = [idset.encode(each) for each in self.domains]
        return {"machine": self.machine, "cpus": idset.encode(self.cpus), "domains": domains}


def of_fields(fields: Mapping[str, Any]) -> BrokerCpus | None:
    """Read what a message has; None where it has nothing, as of brokers of 0.1.0, or nothing right."""
    try:
        cpus, domains = idset.decode(fields["cpus"]), tuple(idset.decode(each) for each in fields["domains"])
    except (KeyError, TypeError, IdsetError):
        return None
    return BrokerCpus(str(fields.get("machine")), cpus, domains) if cpus else None


def found(domains: Path = _DOMAINS, boot: Path = _BOOT) -> BrokerCpus:
    """Return the CPUs of this process, by its affinity."""
    cpus = os.sched_getaffinity(0)
    try:
        machine = boot.read_text(encoding="ascii").strip()
    except OSError:
        machine = os.uname().nodename
    parts = [tuple(cpu for cpu in each if cpu in cpus) for each in _domains(domains)]
    inside = tuple(part for part in parts if part)
    return BrokerCpus(machine, tuple(sorted(cpus)), inside if len(inside) > 1 else ())


def _domains(folder: Path) -> Iterator[tuple[int, ...]]:
    """Yield the CPUs of each domain of the machine, by the domain's number; some have memory alone."""
    for path in sorted(folder.glob("node[0-9]*/cpulist"), key=lambda path: int(path.parent.name[4:])):
        try:
            yield idset.decode(path.read_text(encoding="ascii").strip())
        except (OSError, IdsetError):
            continue
