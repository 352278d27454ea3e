"""The NUMA domains of a node: each core is in one of them."""

from __future__ import annotations

import pytest

from queue_policies.errors import InvalidDomains
from queue_policies.nodes.domains import checked_domains


@pytest.mark.parametrize(
    ("cores", "domains", "expected"),
    [
        pytest.param(0b1111, (0b1100, 0b0011), (0b0011, 0b1100), id="by their lowest core"),
        pytest.param(0b0110, (0b0011, 0b1100), (0b0010, 0b0100), id="a broker has a part of its machine"),
        pytest.param(0b0011, (0b0011, 0b1100), (), id="all cores in one of them"),
        pytest.param(0b1111, (), (), id="none is known"),
    ],
)
def test_domains_are_those_of_the_cores(cores: int, domains: tuple[int, ...], expected: object) -> None:
    assert checked_domains("mc-0", cores, domains) == expected


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        pytest.param((0b0111, 0b1110), "overlap: cores 1, 2 in two of them", id="overlap"),
        pytest.param((0b0001, 0b0110), "miss core 3: each core is in one of them", id="a core is missing"),
    ],
)
def test_wrong_domains_name_host_and_cores(domains: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidDomains) as error:
        checked_domains("mc-0", 0b1111, domains)
    assert str(error.value) == f"the NUMA domains of mc-0 {message}"
