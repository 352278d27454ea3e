"""Topologies of nodes as hwloc writes them, made of a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def cpuset(cpus: Iterable[int]) -> str:
    """Write a set of CPUs in words of 32 bits; words of zeros are empty, but for the last one."""
    bits = sum(1 << cpu for cpu in cpus)
    words = [bits >> shift & 0xFFFFFFFF for shift in range(0, max(bits.bit_length(), 1), 32)][::-1]
    shown = [f"0x{word:08x}" if word else "" for word in words]
    return ",".join([*shown[:-1], shown[-1] or "0x0"])


def topology_xml(cores: Sequence[Sequence[int]], domains: Sequence[Sequence[int]] = ()) -> str:
    """Return the text for cores with these CPUs, by their ids, and for NUMA nodes with these CPUs."""
    everything = cpuset(cpu for cpus in cores for cpu in cpus)
    memories = [
        f'<object type="NUMANode" os_index="{number}" cpuset="{cpuset(cpus)}" nodeset="{cpuset([number])}"/>'
        for number, cpus in enumerate(domains)
    ]
    inside = [_core(number, cpus) for number, cpus in enumerate(cores)]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
        '<topology version="2.0">',
        f'<object type="Machine" os_index="0" cpuset="{everything}" gp_index="1">',
        '<info name="HostName" value="node"/>',
        *memories,
        f'<object type="Package" os_index="0" cpuset="{everything}">',
        *inside,
        "</object></object>",
        '<support name="discovery.pu"/>',
        "</topology>",
    ]
    return "\n".join(lines)


def _core(number: int, cpus: Sequence[int]) -> str:
    units = "".join(f'<object type="PU" os_index="{cpu}" cpuset="{cpuset([cpu])}"/>' for cpu in cpus)
    return f'<object type="Core" os_index="{number}" cpuset="{cpuset(cpus)}">{units}</object>'
