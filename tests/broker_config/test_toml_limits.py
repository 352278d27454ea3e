"""A user's own broker.toml: what would take a parser much time or memory is refused beforehand."""

from __future__ import annotations

import tomllib
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import own_toml, toml_limits
from broker_config.errors import BrokerTomlError
from broker_config.formats import host_ranges
from broker_config.formats.host_ranges import HostRange


def own_hosts(*entries):
    tables = ", ".join(f'{{ host = "{entry}" }}' for entry in entries)
    return f'[bootstrap]\ncurve_cert = "/c"\nhosts = [{tables}]\n'


TOO_LARGE = {
    "one list": (
        own_hosts("a[0-1048574]"),
        "entry 1: hostlist 'a[0-1048574]', character 3: more than 100000",
    ),
    "ten lists": (
        own_hosts(*(f"a{index}[0-60000]" for index in range(10))),
        "broker.toml: [bootstrap] hosts lists more than 100000 hosts",
    ),
    "dots of a key": ("a" + ".a" * 100_000 + " = 1", "broker.toml, line 1: a key of more than 32 dots"),
    "dots of a heading": ("\n[" + "a . " * 100 + "a]", "broker.toml, line 2: a key of more than 32 dots"),
    "quoted parts": ('"a"."b".' * 50 + "c = 1", "broker.toml, line 1: a key of more than 32 dots"),
    "brackets": ("a =\n" + "[" * 3_000, "broker.toml, line 2: more than 32 brackets inside each other"),
    "closed brackets": ("a=" + "[" * 33 + "]" * 33, "line 1: more than 32 brackets inside each other"),
    "braces": ("a = " + "{ b = " * 40, "broker.toml, line 1: more than 32 brackets inside each other"),
    "behind a string": ('a = "\\"["\nb = ' + "[" * 40, "broker.toml, line 2: more than 32 brackets"),
    "bytes": ("# " + "é" * 131_072, "broker.toml has 262146 bytes; allowed are 262144"),
    "digits": ("a = " + "9" * 5_000, "broker.toml: a number of more than 4300 digits"),
}


@pytest.mark.parametrize(("text", "message"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_would_cost_much_is_refused_before_it_is_read(text, message):
    """Memory grows with the text alone."""
    tracemalloc.start()
    try:
        with pytest.raises(BrokerTomlError) as caught:
            own_toml.check(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert message in str(caught.value)
    assert peak < 2_000_000


JUNK = (r"'[.'", r'"[.\""', "''', [ '''", r'"""", [ \""" [ """', "1.5", "\n# [[ '\n1", "1979-05-27")


@given(st.integers(30, 35), st.lists(st.sampled_from(JUNK), min_size=35, max_size=35))
def test_brackets_are_counted_between_strings_and_comments(depth, junk):
    """As the parser sees them."""
    text = "a = " + "".join(f"[{each}, " for each in junk[:depth]) + "]" * depth
    assert len(tomllib.loads(text)) == 1
    if depth <= toml_limits.MAX_DEPTH:
        toml_limits.check(text)
        return
    with pytest.raises(BrokerTomlError, match="more than 32 brackets inside each other"):
        toml_limits.check(text)


@pytest.mark.parametrize(
    "text",
    [
        "a = [" + ", ".join("[1.5, {b = 2}]" for _ in range(1_000)) + "]",
        "a = '" + "[." * 100 + "'",
        'a = "' + r"[.\"" * 100 + '"',
        'a = """' + '[.\n"' * 100 + ' """',
        "a = '''" + "[.\n'" * 100 + " '''",
        "# " + "[." * 100,
        "\n".join(f"[t{index}.u.v]\nw.x.y = [[1], [2]]" for index in range(1_000)),
    ],
    ids=["wide", "literal", "basic", "basic lines", "literal lines", "comment", "tables"],
)
def test_what_is_long_but_not_deep_is_read(text):
    """Brackets and dots inside strings and comments count for nothing."""
    found = own_toml.own(f'{text}\n[bootstrap]\nhosts = [{{ host = "a" }}]\n')
    assert found.hosts == (HostRange("a"),)


@pytest.mark.parametrize("text", ['"' * 3 + r'\"""' * 50_000, "'" * 200_000, '"' * 200_000, r"\"" * 100_000])
def test_strings_that_are_never_closed_are_read_once(text):
    """The time for them does not grow with their square."""
    with pytest.raises(BrokerTomlError, match=r"broker.toml is not TOML: "):
        own_toml.check(text)


def test_as_many_hosts_as_a_minicluster_may_have():
    """The bound itself is allowed."""
    found = own_toml.own(own_hosts("a[0-49999]", "b[0-49999]"))
    assert host_ranges.total(found.hosts) == 100_000
