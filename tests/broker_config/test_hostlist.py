"""Hostlists, RFC 29: its test vectors, both ways, and what is said about a wrong one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import hostlist
from broker_config.errors import HostlistError

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
        ("b[1-99999999]", "character 3: more than 1048576 hosts"),
        ("b[0-9999][0-9999]", "character 1: more than 1048576 hosts"),
        ("a[0-1000000],b[0-1000000]", "character 14: more than 1048576 hosts"),
        ("x" * 80 + "]", "hostlist '" + "x" * 57 + "...', character 81"),
    ],
)
def test_wrong(text, message):
    """The message says at which character."""
    with pytest.raises(HostlistError) as caught:
        hostlist.decode(text)
    assert message in str(caught.value)


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
    """No other error than HostlistError; what was decoded can be encoded."""
    try:
        hosts = hostlist.decode(text)
    except HostlistError:
        return
    assert hostlist.decode(hostlist.encode(hosts)) == hosts
