"""Idsets, RFC 22, both ways."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import idset
from broker_config.formats.errors import IdsetError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("[]", ()),
        ("0", (0,)),
        ("1,2,3,5,6,42", (1, 2, 3, 5, 6, 42)),
        ("1-3,5-6,42", (1, 2, 3, 5, 6, 42)),
        ("[1-3,5-6,42]", (1, 2, 3, 5, 6, 42)),
    ],
)
def test_decode(text, expected):
    """RFC 22's own examples."""
    assert idset.decode(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3,1", "idset '3,1', character 3: 1 does not come after 3: ids ascend"),
        ("1-3,2", "character 5: 2 does not come after 3"),
        ("01", "character 1: '01' is neither an id (no leading zeros) nor a range"),
        ("5-2", "character 1: range 5-2 does not ascend"),
        ("0-0", "character 1: range 0-0 does not ascend"),
        ("[1", "character 1: a bracket opens or closes nothing"),
        ("1]", "character 1: a bracket opens or closes nothing"),
        ("]", "character 1: a bracket opens or closes nothing"),
        ("1-", "character 1: '1-' is neither"),
        ("1,,2", "character 3: '' is neither"),
        ("1 2", "character 1: '1 2' is neither"),
        ("0-99999999", "character 1: more than 4194304 ids"),
    ],
)
def test_wrong(text, message):
    """The message says at which character."""
    with pytest.raises(IdsetError) as caught:
        idset.decode(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (range(0), ""),
        (range(1), "0"),
        (range(3, 10**17), f"3-{10**17 - 1}"),
        (range(0, 6, 2), "0,2,4"),
        (range(3, 0, -1), "1-3"),
    ],
)
def test_a_range_is_written_from_its_ends(ids, expected):
    """However many ids it holds."""
    assert idset.encode(ids) == expected


def test_negative_ids_are_refused():
    """RFC 22 knows none."""
    with pytest.raises(IdsetError, match="no negative id: -1"):
        idset.encode([3, -1])


@given(st.sets(st.integers(0, 10**6)))
def test_round_trip(ids):
    """Whatever is encoded is decoded to the same ids."""
    assert set(idset.decode(idset.encode(ids))) == ids


@given(st.sets(st.integers(0, 60)))
def test_encoded_form_is_short(ids):
    """No two ranges touch."""
    ends = [tuple(map(int, item.split("-"))) for item in idset.encode(ids).split(",") if item]
    assert all(first[-1] + 1 < second[0] for first, second in itertools.pairwise(ends))


@given(st.text("0123456789,-[]", max_size=10))
def test_any_text_is_decoded_or_refused(text):
    """No other error than IdsetError."""
    try:
        ids = idset.decode(text)
    except IdsetError:
        return
    assert list(ids) == sorted(set(ids))


@given(st.sets(st.integers(0, 300)))
def test_a_set_as_a_number(ids):
    """Both ways, by its ids and by its text."""
    text = idset.encode(ids)
    bits = sum(1 << each for each in ids)
    assert idset.decode_bits(text) == bits
    assert idset.encode_bits(bits) == text
    assert set(idset.ids_of(bits)) == ids
    assert (idset.size_of(bits), idset.count(text)) == (len(ids), len(ids))


def test_an_id_that_no_number_can_hold():
    """Its bits would take much memory."""
    with pytest.raises(IdsetError, match="id 999999999999999999 is greater than 4194303"):
        idset.decode_bits("999999999999999999")


@pytest.mark.parametrize(("ids", "text"), [((), "[]"), ((3,), "3"), ((0, 1, 2), "[0-2]"), ((1, 3), "[1,3]")])
def test_the_form_for_people(ids, text):
    """A single id has no brackets."""
    assert idset.bracketed(ids) == text
