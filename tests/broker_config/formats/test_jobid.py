"""Job ids (RFC 19)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import jobid

IDS = st.integers(0, (1 << 63) - 1)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("6731191091817518", 6731191091817518, id="decimal"),
        pytest.param("0x17e9fb8df16c2e", 6731191091817518, id="hexadecimal"),
        pytest.param("0017.e9fb.8df1.6c2e", 6731191091817518, id="dotted"),
        pytest.param("job.0017.e9fb.8df1.6c2e", 6731191091817518, id="kvs"),
        pytest.param("ƒuZZybuNNy", 6731191091817518, id="F58, the RFC's example"),
        pytest.param("fuZZybuNNy", 6731191091817518, id="F58 in ASCII"),
        pytest.param(" ƒ1 ", 0, id="blanks around"),
    ],
)
def test_reads_every_encoding(text: str, number: int) -> None:
    assert jobid.parse(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ƒ",
        "f",
        "x",
        "-1",
        "0x",
        "0xzz",
        "ƒ0",
        "ƒIl",
        "f" + "z" * 11,
        "f" + "1" * 12,
        "9" * 21,
        "1.2.3.4",
        "²",
        str(1 << 63),
    ],
)
def test_rejects_what_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid jobid"):
        jobid.parse(text)


@given(IDS)
def test_every_encoding_comes_back(number: int) -> None:
    encoders = (str, hex, jobid.f58, jobid.f58plain, jobid.dothex, jobid.kvs)
    assert [jobid.parse(encode(number)) for encode in encoders] == [number] * len(encoders)


@given(st.text(max_size=20))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert jobid.parse(text) >= 0


def test_a_negative_number_is_no_id() -> None:
    with pytest.raises(ValueError, match="a job id is not negative: -1"):
        jobid.f58(-1)


@given(st.lists(st.floats(0, 10), max_size=50), st.integers(0, 1 << 40))
def test_ids_increase_even_where_the_clock_steps_back(steps: list[float], largest: int) -> None:
    ids = jobid.IdMaker(1000.0, largest)
    made = [ids.next(1000.0 + step) for step in steps]
    assert made == sorted(set(made))
    assert all(each > largest for each in made)


def test_many_in_one_millisecond() -> None:
    ids = jobid.IdMaker(0.0)
    made = [ids.next(0.001) for _ in range(3000)]
    assert made == sorted(set(made))
    assert all(each >> 10 & 0x3FFF == 0 for each in made), "the generator's bits are the lead's"
