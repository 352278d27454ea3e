"""Flux's format strings; the expected lines were seen on real Flux 0.88."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import durations
from minicluster.embedded.formats import FormatError, OutputFormat, headings

HEADS = headings("id=JOBID name queue ntasks nnodes runtime t_run when")
ITEMS = [
    {"id": "ƒA", "name": "sleep", "queue": "", "ntasks": 1, "nnodes": "", "runtime": 0.0, "t_run": 0.0},
    {
        "id": "ƒBcd",
        "name": "averylongname_x",
        "queue": "",
        "ntasks": 200,
        "nnodes": 2,
        "runtime": 61.5,
        "t_run": 1.0,
    },
]


def table(form: str, items: list[dict[str, object]] = ITEMS, *, header: bool = True) -> list[str]:
    layout = OutputFormat(form, HEADS, lambda item, name: item.get(name, ""))
    return list(layout.table(items, header=header))


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        pytest.param("{id:>6} {name}", [" JOBID NAME", "    ƒA sleep", "  ƒBcd averylongname_x"], id="align"),
        pytest.param("{name:<10.10+}|", ["NAME      |", "sleep     |", "averylong+|"], id="cut with plus"),
        pytest.param("{name:4.4h}|", ["NAME|", "slee|", "aver|"], id="cut"),
        pytest.param("{nnodes:>6h}", ["NNODES", "     -", "     2"], id="hyphen"),
        pytest.param("{runtime!F:>8h}", [" RUNTIME", "       -", "  1.025m"], id="duration or hyphen"),
        pytest.param("{runtime:0.1f}", ["RUNTIME", "0.0", "61.5"], id="number"),
        pytest.param("{ntasks:6}|", ["NTASKS|", "     1|", "   200|"], id="numbers are right-aligned"),
        pytest.param(
            "{id} ?:{queue:<8} {ntasks}", ["JOBID NTASKS", "ƒA 1", "ƒBcd 200"], id="empty column left out"
        ),
        pytest.param(
            "+:{name:<3}|", ["NAME           |", "sleep          |", "averylongname_x|"], id="widened"
        ),
        pytest.param("?+:{queue:<4}{id}", ["JOBID", "ƒA", "ƒBcd"], id="left out, not widened"),
        pytest.param("{{x}} {id}", ["{x} JOBID", "{x} ƒA", "{x} ƒBcd"], id="braces"),
        pytest.param("{t_run!d:%Y::>6h}|", [" T_RUN|", "     -|", "  1970|"], id="date by strftime"),
    ],
)
def test_a_table(form: str, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert table(form) == lines


def test_without_header_widths_come_from_values() -> None:
    assert table("+:{id}|", header=False) == ["ƒA  |", "ƒBcd|"]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        pytest.param("{nosuch}", "Unknown format field: nosuch", id="field"),
        pytest.param("{id", "expected '}' before end of string", id="brace"),
        pytest.param("{id:zz}", "Invalid format specifier 'zz' for field id", id="specifier"),
        pytest.param("{id!X}", "Unknown conversion specifier X", id="conversion"),
    ],
)
def test_a_wrong_format_reports_why(form: str, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        table(form)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0s"),
        (0.203, "0.203s"),
        (9.9994, "9.999s"),
        (42.5, "42.5s"),
        (90, "1.5m"),
        (3600, "1h"),
        (5400, "1.5h"),
        (86400, "1d"),
        (float("inf"), "inf"),
    ],
)
def test_durations_are_written_as_flux_does(seconds: float, text: str) -> None:
    assert durations.encode(seconds) == text


@given(st.text(st.characters(exclude_characters="{}"), max_size=12), st.integers(1, 12))
def test_a_value_of_any_text_fills_its_width(text: str, width: int) -> None:
    """Precision and width together make every cell exactly that wide."""
    cell = table(f"{{name:<{width}.{width}+}}", [{"name": text}], header=False)[0]
    assert len(cell) == width
    assert cell == text.ljust(width) if len(text) <= width else cell == text[: width - 1] + "+"


@given(st.text(max_size=30))
def test_any_text_is_a_format_or_refused(form: str) -> None:
    """A user's format string gives a line for the heading and each item, or words that say what is wrong."""
    assert outcome(form) in {"lines", "refused"}


def outcome(form: str) -> str:
    """Return what came of a format string."""
    try:
        lines = table(form)
    except FormatError as error:
        return "refused" if str(error) else "refused without a word"
    return "lines" if len(lines) == 1 + len(ITEMS) else f"{len(lines)} lines"
