"""Hostlists, RFC 29: its test vectors, both ways, and what is said about a wrong one."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import hostlist
from broker_config.formats.errors import HostlistError

prefixes = st.text("abz-.019", max_size=4)
names = st.builds(
    lambda prefix, number, width: f"{prefix}{number:0{width}}",
    prefixes,
    st.integers(0, 1200),
    st.integers(1, 4),
)
host_names = names | st.text("ab-.0", min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("foox,fooy,fooz", ["foox", "fooy", "fooz"]),
        ("[1-3,5-6]", ["1", "2", "3", "5", "6"]),
        ("foo[1-5]", ["foo1", "foo2", "foo3", "foo4", "foo5"]),
        ("foo[0-4]-eth2", ["foo0-eth2", "foo1-eth2", "foo2-eth2", "foo3-eth2", "foo4-eth2"]),
        ("foo1,foo1,foo1", ["foo1", "foo1", "foo1"]),
        ("[00-02]", ["00", "01", "02"]),
        ("[00-2]", ["00", "01", "02"]),
        ("foo[1,1,2,1]", ["foo1", "foo1", "foo2", "foo1"]),
        ("a[005,4,11-13]", ["a005", "a004", "a011", "a012", "a013"]),
        ("r[0-1]n[1-2]x", ["r0n1x", "r0n2x", "r1n1x", "r1n2x"]),
        ("a,,b,", ["a", "b"]),
    ],
)
def test_decode(text, expected):
    """RFC 29's vectors; the padding of the first id; several brackets; empty expressions."""
    assert hostlist.decode(text) == expected


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], ""),
        (["mc-0", "mc-1", "mc-2", "mc-5"], "mc-[0-2,5]"),
        (["a", "b1"], "a,b1"),
        (["f9", "f10"], "f[9-10]"),
        (["f09", "f10"], "f[09-10]"),
        (["f1", "f01"], "f1,f01"),
        (["12", "13"], "[12-13]"),
        (["f2", "f1", "f1"], "f[2,1,1]"),
        (["f" + "9" * 30], "f" + "9" * 30),
    ],
)
def test_encode(hosts, expected):
    """Neighbours share a bracket, where padding lets them."""
    assert hostlist.encode(hosts) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo[1", "hostlist 'foo[1', character 4: '[' is never closed"),
        ("foo]", "character 4: ']' without a '[' before it"),
        ("a b", "character 2: ' ' cannot be part of a host name"),
        ("é", "character 1: 'é' cannot be part of a host name"),
        ("ab[1,]", "character 6: '' is neither a number nor a range like 0-3"),
        ("a,b[x]", "character 5: 'x' is neither a number nor a range like 0-3"),
        ("b[7-3]", "character 3: range 7-3 goes backwards"),
        ("b[[1]]", "character 3: a bracket inside a bracket"),
        ("b[1-99999999]", "character 3: more than 100000 hosts"),
        ("b[0-9999][0-9999]", "character 1: more than 100000 hosts"),
        ("a[0-60000],b[0-60000]", "character 12: more than 100000 hosts"),
        ("b[0-9]" + "[0-99999999]" * 900, "character 8: more than 100000 hosts"),
        ("a," + "x" * 249 + "[00000]", "character 3: a host name of more than 253 characters"),
        ("x" * 254, "character 1: a host name of more than 253 characters"),
        ("x" * 80 + "]", "hostlist '" + "x" * 57 + "...', character 81"),
        (
            "a,n[0-99998]x",
            "character 3: names of more than 524288 characters; let each end in the number that varies",
        ),
    ],
)
def test_wrong(text, message):
    """The message says at which character."""
    with pytest.raises(HostlistError) as caught:
        hostlist.decode(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("read", [hostlist.decode, hostlist.count])
@pytest.mark.parametrize(
    "text",
    [
        "x-0,b[0-1000000]",
        "b[0-99999],c",
        "b[0-999][0-999]",
        "b[0-" + "9" * 18 + "]",
        "x" * 60_000 + "[0-99999]",
        ",".join(f"b{index}[0-99999]" for index in range(4_000)),
    ],
    ids=["range", "one more", "product", "digits", "long names", "many"],
)
def test_what_is_too_large_is_refused_before_it_is_expanded(text, read):
    """Of the memory that the names would take nothing is used."""
    tracemalloc.start()
    try:
        with pytest.raises(HostlistError, match=r"more than (100000 hosts|253 characters)"):
            read(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_limit_of_the_callers():
    """Its own number is in the message."""
    assert hostlist.decode("a[0-2]", limit=3) == ["a0", "a1", "a2"]
    with pytest.raises(HostlistError, match=r"hostlist 'a\[0-3\]', character 3: more than 3 hosts"):
        hostlist.decode("a[0-3]", limit=3)


@pytest.mark.parametrize("host", ["", "a,b", "a[1]", "a b"])
def test_name_that_no_hostlist_can_hold(host):
    """Encoding refuses it."""
    with pytest.raises(HostlistError):
        hostlist.encode([host])


@given(st.lists(host_names, max_size=12))
def test_round_trip(hosts):
    """Whatever is encoded is decoded to the same names, in order."""
    assert hostlist.decode(hostlist.encode(hosts)) == hosts


@given(st.integers(0, 300), st.integers(1, 300))
def test_a_run_of_hosts_is_one_range(first, count):
    """The shortest form."""
    hosts = [f"mc-{number}" for number in range(first, first + count)]
    assert hostlist.encode(hosts) == (hosts[0] if count == 1 else f"mc-[{first}-{first + count - 1}]")


@given(st.text("ab[]0123456789,- ", max_size=12))
def test_any_text_is_decoded_or_refused(text):
    """No other error than HostlistError; what was decoded can be encoded, and was counted right."""
    try:
        hosts = hostlist.decode(text)
    except HostlistError as error:
        with pytest.raises(HostlistError, match=re.escape(str(error))):
            hostlist.count(text)
        return
    assert hostlist.count(text) == len(hosts)
    assert hostlist.decode(hostlist.encode(hosts)) == hosts
