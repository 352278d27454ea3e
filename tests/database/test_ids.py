"""ULIDs: they sort by time, and never go back."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.database import ids, new_id

MAX_SECONDS = 2**48 / 1000 - 1


@given(st.lists(st.floats(0, MAX_SECONDS), min_size=2, max_size=20))
def test_ids_increase_whatever_the_clock_does(clock: list[float]) -> None:
    factory = ids.UlidFactory()
    made = [factory.new(now) for now in clock]
    assert made == sorted(set(made))


@given(st.integers(0, 2**48 - 1))
def test_an_id_has_the_time_when_it_was_made(milliseconds: int) -> None:
    made = ids.UlidFactory().new(milliseconds / 1000 + 0.0001)
    assert abs(ids.made_at(made) * 1000 - milliseconds) <= 1


def test_the_text_is_the_specification_s() -> None:
    """The example of github.com/ulid/spec."""
    assert ids.encoded(0x01563E3AB5D3D6764C61EFB99302BD5B) == "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert ids.made_at("01ARZ3NDEKTSV4RRFFQ69G5FAV") == 1469922850.259


def test_after_the_last_id_of_a_millisecond_comes_the_next_millisecond() -> None:
    factory = ids.UlidFactory(random=lambda bits: 2**bits - 1)
    first, second = factory.new(1.0), factory.new(1.0)
    assert (ids.made_at(first), ids.made_at(second)) == (1.0, 1.001)


def test_a_clock_before_1970_makes_an_id() -> None:
    assert ids.made_at(ids.UlidFactory().new(-5.0)) == 0.0


def test_threads_never_get_the_same_id() -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend(new_id(1.0) for _ in range(500))) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(made)) == 2000


@pytest.mark.parametrize(
    "text", ["", "01ARZ3NDEKTSV4RRFFQ69G5FA", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no ULID"):
        ids.made_at(text)
