"""Sets of CPUs, as `-o cpu-affinity=map:LIST` has them."""

from __future__ import annotations

import pytest

from broker_config.formats import cpu_lists
from broker_config.formats.errors import CpuListError


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("3", {3}),
        ("0-2,5", {0, 1, 2, 5}),
        ("5,0", {0, 5}),
        ("1-2,2-3", {1, 2, 3}),
        ("6-", {6, 7}),
        ("0x5", {0, 2}),
        ("0xf0000000f", {0, 1, 2, 3, 32, 33, 34, 35}),
        ("0x1,0x80000000", {31, 32}),
    ],
)
def test_a_set(text: str, cpus: set[int]) -> None:
    """On a machine with eight CPUs."""
    assert cpu_lists.decode(text, 8) == cpus


@pytest.mark.parametrize("text", ["", "x", "0x", "0x0", "0xg", "3-1", "1,,2", "-1", "0x1,2", "0x012345678,1"])
def test_none(text: str) -> None:
    with pytest.raises(CpuListError) as caught:
        cpu_lists.decode(text, 8)
    assert str(caught.value) == f"cpuset {text} contains no cores or is invalid"


def test_too_few_are_used_again() -> None:
    """From the first one on."""
    assert cpu_lists.decode_all("0;1-2", 5, 8) == [{0}, {1, 2}, {0}, {1, 2}, {0}]


def test_too_many_are_not_even_read() -> None:
    assert cpu_lists.decode_all("0;1;x", 2, 8) == [{0}, {1}]


def test_no_set_at_all() -> None:
    with pytest.raises(CpuListError, match=r"^no cpusets found in affinity list ;$"):
        cpu_lists.decode_all(";", 2, 8)
