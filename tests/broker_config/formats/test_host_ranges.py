"""Hosts as ranges stand for the same names as lists of names, in every operation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import host_ranges, hostlist
from broker_config.formats.host_ranges import HostRange

ids = st.builds(
    lambda first, more, width: f"{first:0{width}}-{first + more}" if more else f"{first:0{width}}",
    st.integers(0, 120) | st.integers(990, 1010) | st.integers(10**17 - 3, 10**17 + 3),
    st.integers(0, 12),
    st.integers(1, 4),
)
words = st.text("a-019", max_size=3) | st.just("9" * 20)
expressions = st.builds(
    lambda start, between, numbers, end: f"{start}{between}[{','.join(numbers)}]{end}",
    words,
    st.sampled_from(["", "[0-2]", "[08-11]x"]),
    st.lists(ids, min_size=1, max_size=3),
    st.sampled_from(["", "", "x", "7"]),
)
texts = st.lists(expressions | words.filter(bool), max_size=4).map(",".join)


def names(ranges):
    return [name for each in ranges for name in each.names()]


@given(texts)
def test_each_host_has_one_form(text):
    """However it is written: `a1[0-1]` and `a[10-11]` are the same hosts."""
    for each in hostlist.ranges(text):
        assert [host_ranges.named(name) for name in each.names()] == [
            each._replace(first=number, last=number) for number in range(each.first, each.last + 1)
        ]


@given(texts)
def test_ranges_are_written_as_their_names_are(text):
    """`encode` goes name by name."""
    ranges = hostlist.ranges(text)
    assert hostlist.encode_ranges(ranges) == hostlist.encode(names(ranges))


@given(texts)
def test_hosts_are_there_once(text):
    """The first place counts; and the first one that comes again is named."""
    ranges = hostlist.ranges(text)
    listed = names(ranges)
    assert names(host_ranges.distinct(ranges)) == list(dict.fromkeys(listed))
    again = (name for index, name in enumerate(listed) if name in listed[:index])
    assert host_ranges.repeated(ranges) == next(again, "")


@given(texts, st.data())
def test_some_hosts_are_taken_apart(text, data):
    """Each is a range of its own then; nothing else changes."""
    ranges = hostlist.ranges(text)
    listed = names(ranges)
    alone = data.draw(st.lists(st.sampled_from(listed), max_size=3)) if listed else []
    parts = list(host_ranges.apart(ranges, [*alone, "elsewhere"]))
    assert names(parts) == listed
    assert all(each.total == 1 for each in parts if set(each.names()) & set(alone))


@pytest.mark.parametrize(
    ("prefix", "numbers", "width", "expected"),
    [
        ("m-", range(3), 0, [HostRange("m-", 1, 0, 2)]),
        ("m-", range(8, 12), 0, [HostRange("m-", 1, 8, 9), HostRange("m-", 2, 10, 11)]),
        ("m-", range(8, 12), 3, [HostRange("m-", 3, 8, 11)]),
        ("m1", range(8, 12), 0, [HostRange("m", 2, 18, 19), HostRange("m", 3, 110, 111)]),
        ("9" * 20, range(2), 0, [HostRange("999", 18, int("9" * 17 + "0"), int("9" * 17 + "1"))]),
        ("m-", range(0), 0, []),
    ],
    ids=["one", "two lengths", "padded", "a digit before", "too many digits", "none"],
)
def test_numbered(prefix, numbers, width, expected):
    assert list(host_ranges.numbered(prefix, numbers, width)) == expected
