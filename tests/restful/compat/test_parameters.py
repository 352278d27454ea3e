"""Shell options and variables, as texts of a query and as objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.compat import environment, options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1,b=x=y", {"a": 1, "b": "x=y"}),
        (" a = 2 , verbose", {"a ": 2, "verbose": 1}),
        ("a=,b=true,c=1.5", {"a": "", "b": True, "c": 1.5}),
        ("a=NaN,b=1e999,c=[1]", {"a": "NaN", "b": "1e999", "c": "[1]"}),
        ("", {}),
        (",,", {}),
    ],
)
def test_options_are_read_as_flux_submit_reads_them(text: str, expected: dict[str, Any]) -> None:
    assert options.read(text) == (expected, [])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", {}),
        ("{}", {}),
        ('{"A": "1"}', {"A": "1"}),
        ("{'A': '1', 'B': \"it's\"}", {"A": "1", "B": "it's"}),
        (r"{'A': 'a\nb\x41\u00e9\\'}", {"A": "a\nbA\u00e9\\"}),
        ({"A": 1, "B": 0.5}, {"A": "1", "B": "0.5"}),
    ],
)
def test_variables_are_read(value: Any, expected: dict[str, str]) -> None:
    assert environment.read(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "A=1", "[]", "{'A': 1}", "{'A': __import__('os')}", "{'A': '1'", "{'A' '1'}", "{'A': '\\q'}", [], 3,
        {"A": None}, {"A": True}, "{'A': '\\U00ffffff'}",
    ],
)  # fmt: skip
def test_what_are_no_variables_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^Environment variables must be key/value pairs \(dict\)$"):
        environment.read(value)


def test_too_many_variables_are_refused() -> None:
    with pytest.raises(ValueError, match="may have 262144 characters, not 262147"):
        environment.read("{" + " " * (256 * 1024 + 1) + "}")


@given(st.dictionaries(st.text(), st.text()))
def test_what_python_writes_is_read_again(variables: dict[str, str]) -> None:
    assert environment.read(str(variables)) == variables
