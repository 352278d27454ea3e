"""What brokers have together is the same after a cut as before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minicluster.document import ResourceRequirements, quantity
from minicluster.plan.brokers.cutting import divided, greatest_cut

CORES = st.integers(1, 4096)
MEMORY = st.integers(1, 2**42)


@given(CORES, st.integers(0, 64), MEMORY, st.integers(1, 10_000))
def test_whole_parts_add_up_to_what_was_there(cores: int, devices: int, memory: int, most: int) -> None:
    """CPUs and devices exactly, memory to less than a byte for each part."""
    amounts = {"cpu": str(cores), "memory": str(memory)} | (
        {"example.org/gpu": str(devices)} if devices else {}
    )
    whole = ResourceRequirements(limits=amounts, requests={"memory": str(memory)})
    number = greatest_cut(whole, most)
    assert 1 <= number <= max(most, 1)
    part = divided(whole, number)
    for name in amounts.keys() - {"memory"}:
        assert quantity(part.limits[name]) * number == quantity(amounts[name])
        assert quantity(part.limits[name]).denominator == 1
    assert 0 <= int(part.limits["memory"]) * number - memory < number
    assert part.limits["memory"] == part.requests["memory"]


@given(CORES, st.integers(1, 10_000))
def test_no_larger_number_would_do(cores: int, most: int) -> None:
    number = greatest_cut(ResourceRequirements(limits={"cpu": str(cores)}), most)
    assert all(cores % each for each in range(number + 1, min(most, cores) + 1))
