"""Cores, CPUs and NUMA domains as real Flux has them from hwloc."""

from __future__ import annotations

import pytest

from minicluster.flux_scheduler.errors import TopologyInvalid
from minicluster.flux_scheduler.topology import cpus_of, domains_of, parse
from tests.lead.hwloc_xml import topology_xml

EIGHT = [[cpu] for cpu in range(8)]
PAIRS = [[cpu, cpu + 4] for cpu in range(4)]
"""Four cores with two hyperthreads each, numbered as Linux does."""


@pytest.mark.parametrize(
    ("cores", "domains", "found"),
    [
        pytest.param(EIGHT, [], (0xFF,), id="no NUMA nodes"),
        pytest.param(EIGHT, [range(8)], (0xFF,), id="one"),
        pytest.param(EIGHT, [range(4), range(4, 8)], (0x0F, 0xF0), id="two"),
        pytest.param(EIGHT, [range(0, 8, 2), range(1, 8, 2)], (0x55, 0xAA), id="interleaved cores"),
        pytest.param(PAIRS, [[0, 1, 4, 5], [2, 3, 6, 7]], (0b0011, 0b1100), id="hyperthreads"),
        pytest.param(EIGHT, [range(4, 8), range(4)], (0x0F, 0xF0), id="in the order of cores"),
        pytest.param(EIGHT, [range(4), range(4, 8), range(8)], (0x0F, 0xF0), id="memory beside sockets"),
        pytest.param(EIGHT, [range(4), range(4), range(4, 8)], (0x0F, 0xF0), id="memory of two kinds"),
        pytest.param(EIGHT, [range(4), range(4, 8), []], (0x0F, 0xF0), id="memory without cores"),
        pytest.param(EIGHT, [range(4)], (0x0F, 0xF0), id="cores without memory"),
        pytest.param([[5], [40], [70]], [[5], [40, 70]], (0b001, 0b110), id="a restricted set of many CPUs"),
    ],
)
def test_domains_have_the_ids_of_cores(cores: list[list[int]], domains: list[range], found: object) -> None:
    """Each core is in one of them, whatever hwloc has."""
    assert parse(topology_xml(cores, domains)).domains == found


def test_numa_nodes_around_the_cores_count_too() -> None:
    """As hwloc 1 writes them."""
    text = """\
<topology><object type="Machine" cpuset="0x0000000f">
<object type="NUMANode" cpuset="0x00000003"><object type="Core" cpuset="0x00000001"/>
<object type="Core" cpuset="0x00000002"/></object>
<object type="NUMANode" cpuset="0x0000000c"><object type="Core" cpuset="0x0000000c"/></object>
</object></topology>"""
    assert parse(text) == ((1, 2, 0b1100), (0b011, 0b100))


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        pytest.param(0xFF, (0x0F, 0xF0), id="all"),
        pytest.param(0x3C, (0x0C, 0x30), id="a part of each"),
        pytest.param(0x0F, (), id="one domain is none"),
        pytest.param(0x1FF, (), id="more than the node has"),
    ],
)
def test_only_cores_of_r_count(cores: int, found: object) -> None:
    """Where R has others, as with brokers that stand for machines elsewhere, nothing is known."""
    assert domains_of(parse(topology_xml(EIGHT, [range(4), range(4, 8)])), cores) == found


@pytest.mark.parametrize(
    ("cores", "cpus"),
    [
        pytest.param(0b0001, 0b00010001, id="both hyperthreads"),
        pytest.param(0b1010, 0b10101010, id="of several cores"),
        pytest.param(0b10001, 0, id="a core that is not there"),
    ],
)
def test_a_core_has_its_cpus(cores: int, cpus: int) -> None:
    assert cpus_of(parse(topology_xml(PAIRS)), cores) == cpus


@pytest.mark.parametrize(
    ("cpuset", "cpus"),
    [
        pytest.param("0x1", 1, id="short"),
        pytest.param("0x00000001,,0x0", 1 << 64, id="words that are left out"),
        pytest.param("0xf...f", (1 << 32) - 1, id="all that could be"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_sets_are_read_as_hwloc_writes_them(cpuset: str, cpus: int) -> None:
    assert parse(f'<topology><object type="Core" cpuset="{cpuset}"/></topology>').cores == (cpus,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "hwloc's topology is not XML: no element found: line 1, column 0", id="empty"),
        pytest.param(
            '<topology><object type="Core" cpuset="0xg"/></topology>',
            "hwloc's topology has '0xg' for a set of CPUs",
            id="a set that is none",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(TopologyInvalid) as raised:
        parse(text)
    assert str(raised.value) == message
