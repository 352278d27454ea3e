"""Which CPU each core of R is, and which of them are near to the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from broker_config.formats.resource_set import Node
from minicluster.embedded.execution import broker_cpus
from minicluster.embedded.execution.broker_cpus import BrokerCpus
from minicluster.embedded.execution.lead.cpu_table import CpuTable

if TYPE_CHECKING:
    from pathlib import Path

TWO_DOMAINS = BrokerCpus("m", (4, 5, 6, 7), ((4, 5), (6, 7)))


def table(*cores: int, joined: dict[int, BrokerCpus | None]) -> CpuTable:
    """A table of ranks with these bits of cores."""
    made = CpuTable([Node(rank, f"mc-{rank}", bits) for rank, bits in enumerate(cores)])
    for rank, cpus in joined.items():
        made.join(rank, cpus)
    return made


def test_core_k_is_the_kth_cpu() -> None:
    found = table(0b1111, joined={0: TWO_DOMAINS}).of(0)
    assert found == ({0: 4, 1: 5, 2: 6, 3: 7}, "")


def test_cores_of_a_job_of_an_outer_instance() -> None:
    """Their numbers begin anywhere; its broker has as many CPUs."""
    found = table(0b1100, joined={0: BrokerCpus("m", (2, 3))}).of(0)
    assert found == ({2: 2, 3: 3}, "")


def test_brokers_of_one_machine_divide_its_cpus_by_rank() -> None:
    """In whatever order they join."""
    found = table(0b1, 0b11, 0b1, joined=dict.fromkeys((2, 0, 1), TWO_DOMAINS))
    assert [found.of(rank) for rank in range(3)] == [({0: 4}, ""), ({0: 5, 1: 6}, ""), ({0: 7}, "")]


@pytest.mark.parametrize(
    ("cores", "joined", "by_core", "why"),
    [
        pytest.param(
            (0b11, 0b11),
            dict.fromkeys((0, 1), BrokerCpus("m", (0, 1))),
            {0: 0, 1: 1},
            "mc-[0-1] have 4 cores in R, and may use the CPUs 0-1",
            id="more cores than CPUs, in all",
        ),
        pytest.param(
            (0b111,),
            {0: BrokerCpus("m", (0, 1))},
            {},
            "mc-0 has 3 cores in R, and may use the CPUs 0-1",
            id="more cores than CPUs",
        ),
        pytest.param(
            (0b11,),
            {0: BrokerCpus("m", tuple(range(64)))},
            {0: 0, 1: 1},
            "mc-0 has 2 cores in R, and may use the CPUs 0-63",
            id="a pod without CPUs of its own",
        ),
        pytest.param(
            (0b1, 0b1),
            {0: BrokerCpus("m", (0,)), 1: BrokerCpus("m", (0, 1))},
            {0: 0},
            "mc-[0-1] have 2 cores in R, and may use the CPUs 0",
            id="a part of another's CPUs",
        ),
        pytest.param((0b1,), {0: None}, {}, "the CPUs of its broker are not known", id="a broker of 0.1.0"),
        pytest.param((0b1,), {}, {}, "the CPUs of its broker are not known", id="not joined"),
    ],
)
def test_cpus_that_are_not_a_brokers_own(
    cores: tuple[int, ...], joined: dict[int, BrokerCpus | None], by_core: dict[int, int], why: str
) -> None:
    """Tasks are bound to them on request alone, as far as there are enough."""
    assert table(*cores, joined=joined).of(0) == (by_core, why)


def test_brokers_of_several_machines_have_no_cpu_in_common() -> None:
    both = {0: BrokerCpus("one", (0,)), 1: BrokerCpus("other", (0,))}
    assert [table(0b1, 0b1, joined=both).of(rank) for rank in range(2)] == [({0: 0}, "")] * 2


def test_domains_are_those_of_the_cores() -> None:
    assert table(0b1111, joined={}).join(0, TWO_DOMAINS) == {0: (0b0011, 0b1100)}


def test_a_join_may_change_the_domains_of_all_brokers_on_the_machine() -> None:
    """With the second one their CPUs are their own."""
    ranks = table(0b11, 0b11, joined={})
    assert ranks.join(0, TWO_DOMAINS) == {0: ()}
    assert ranks.join(1, TWO_DOMAINS) == {0: (), 1: ()}
    four = table(0b111, 0b1, joined={0: TWO_DOMAINS})
    assert four.join(1, TWO_DOMAINS) == {0: (0b011, 0b100), 1: ()}


def test_another_topology_is_taken_over() -> None:
    """A pod that comes back may be on another machine."""
    ranks = table(0b1111, joined={0: TWO_DOMAINS})
    assert ranks.join(0, BrokerCpus("n", (0, 2, 8, 9), ((0, 8), (2, 9)))) == {0: (0b0101, 0b1010)}
    assert ranks.of(0).by_core == {0: 0, 1: 2, 2: 8, 3: 9}


def test_a_host_beyond_r_is_passed_over() -> None:
    assert table(0b1, joined={}).join(7, TWO_DOMAINS) == {}


def sysfs(folder: Path, *lists: str) -> Path:
    """The kernel's directory of domains, with these lists of CPUs."""
    for number, text in enumerate(lists):
        (folder / f"node{number}").mkdir(parents=True)
        (folder / f"node{number}" / "cpulist").write_text(text + "\n")
    return folder


@pytest.mark.parametrize(
    ("lists", "affinity", "domains"),
    [
        pytest.param(("0-3", "4-7"), range(8), ((0, 1, 2, 3), (4, 5, 6, 7)), id="all of both"),
        pytest.param(("0,2", "1,3"), {1, 2, 3}, ((2,), (1, 3)), id="a part of both"),
        pytest.param(("0-3", "4-7"), {1, 2}, (), id="one of two"),
        pytest.param(("0-3", ""), range(4), (), id="one has memory alone"),
        pytest.param(("0-3", "x"), range(4), (), id="unreadable"),
        pytest.param((), range(4), (), id="the kernel tells none"),
        pytest.param(("0",) * 10 + ("1", "2"), {1, 2}, ((1,), (2,)), id="by number"),
    ],
)
def test_the_domains_that_a_broker_finds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lists: tuple[str, ...],
    affinity: set[int],
    domains: tuple[tuple[int, ...], ...],
) -> None:
    """Those of the CPUs that it may use."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(affinity))
    found = broker_cpus.found(sysfs(tmp_path / "node", *lists), tmp_path / "none")
    assert (found.cpus, found.domains) == (tuple(sorted(affinity)), domains)


def test_a_message_has_what_it_was_made_of() -> None:
    assert broker_cpus.of_fields(TWO_DOMAINS.fields()) == TWO_DOMAINS


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"machine": "m", "cpus": "", "domains": []},
        {"machine": "m", "cpus": "0-x", "domains": []},
        {"machine": "m", "cpus": 7, "domains": []},
        {"machine": "m", "cpus": "0", "domains": 3},
        {"machine": "m", "cpus": "0", "domains": [None]},
    ],
)
def test_a_message_that_is_none_is_passed_over(fields: dict[str, object]) -> None:
    assert broker_cpus.of_fields(fields) is None
