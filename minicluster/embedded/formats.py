"""Flux's `-o` format strings: Python's replacement fields with a few marks of Flux's own.

Before a field: `?:` leaves the column out where every value is empty, `+:` widens it to the longest value,
`?+:` does both. After a field: conversions !d (strftime) !F (duration) and the suffixes `h` (a hyphen for an
empty value) and `+` (a plus sign where the value was cut). See flux-jobs(1).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from string import Formatter
from typing import TYPE_CHECKING, Any

from broker_config.formats import durations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MARKS = ("?+:", "?:", "+:")
_SPEC = re.compile(
    r"(?P<alignment>(?:.?[<>=^])?)(?P<width>\d*)(?:\.(?P<precision>\d+))?"
    r"(?P<kind>[bcdeEfFgGnosxX%]?)(?P<hyphen>h?)(?P<cut>\+?)",
    re.DOTALL,
)
_EMPTY = ("", "0s", "0.0", "0:00:00", "1970-01-01T00:00:00")


def headings(words: str) -> dict[str, str]:
    """Return column heads by field, from words FIELD or FIELD=HEAD; the default head is FIELD in capitals."""
    pairs = (word.partition("=") for word in words.split())
    return {field: head if equals else field.upper().replace(".", "-") for field, equals, head in pairs}


class FormatError(ValueError):
    """The format string is wrong; the text names the mistake."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One replacement field with the text before it."""

    text: str
    """What is before it, without the mark."""
    name: str
    """Empty for text alone."""
    conversion: str
    """`d`: a time; `F`: a duration in FSD; empty: neither."""
    times: str
    """For strftime."""
    drop: bool
    """Mark `?`: left out where all of the column is empty."""
    widen: bool
    """Mark `+`: as wide as its longest value."""
    alignment: str
    """Fill and alignment."""
    width: int
    """0: as wide as the value."""
    precision: int
    """Of a text the most characters, of a number its digits; 0: no limit."""
    kind: str
    """The presentation type of Python's formats, such as `f`."""
    hyphen: bool
    """Whether an empty value is shown as `-`."""
    cut: bool
    """Whether a text that is cut off ends with `+`."""

    @classmethod
    def read(cls, text: str, name: str, spec: str, conversion: str) -> _Field:
        mark = next((mark for mark in _MARKS if text.endswith(mark)), "") if name else ""
        times, _colons, rest = spec.partition("::") if conversion == "d" else ("", "", spec)
        found = _SPEC.fullmatch(rest)
        if found is None:
            raise FormatError(f"Invalid format specifier '{spec}' for field {name}")
        if conversion not in _CONVERSIONS:
            raise FormatError(f"Unknown conversion specifier {conversion}")
        width, precision = int(found["width"] or 0), int(found["precision"] or 0)
        marks = (times, "?" in mark, "+" in mark)
        flags = (bool(found["hyphen"]), bool(found["cut"]))
        alignment, kind = found["alignment"], found["kind"]
        return cls(
            text.removesuffix(mark), name, conversion, *marks, alignment, width, precision, kind, *flags
        )

    def wide(self, width: int) -> _Field:
        """Return the field with a width of at least `width`."""
        precision = max(width, self.precision) if self.precision and not self.kind else self.precision
        return replace(self, width=max(width, self.width), precision=precision)

    def show(self, value: Any) -> str:
        """Return a value formatted for its column."""
        width = str(self.width or "")
        if self.hyphen and str(value) in _EMPTY:
            value = "-"
        if isinstance(value, int | float) and not isinstance(value, bool):
            exact = f".{self.precision}" if self.precision and (self.kind or isinstance(value, float)) else ""
            return format(value, self.alignment + width + exact + self.kind)
        text = str(value)
        if 0 < self.precision < len(text):
            text = text[: self.precision - 1] + "+" if self.cut else text[: self.precision]
        return format(text, self.alignment + width)


class OutputFormat:
    """A format of the fields in `headings` (field → head); `value(item, field)` reads them."""

    def __init__(self, text: str, headings: Mapping[str, str], value: Callable[[Any, str], Any]) -> None:
        """Parse the format. Raises FormatError."""
        self._headings = headings
        self._value = value
        try:
            self._fields = [_Field.read(*(piece or "" for piece in part)) for part in Formatter().parse(text)]
        except ValueError as error:
            raise FormatError(str(error)) from None
        for name in self.names:
            if name not in headings:
                raise FormatError(f"Unknown format field: {name}")

    @property
    def names(self) -> list[str]:
        """The names of its fields."""
        return [field.name for field in self._fields if field.name]

    def table(self, items: Sequence[Any], *, header: bool = True) -> Iterable[str]:
        """Yield the lines of the table."""
        fields = self._fitted(items, header)
        if header:
            yield "".join(field.text + self._head(field) for field in fields)
        for item in items:
            yield "".join(field.text + self._cell(item, field) for field in fields)

    def _head(self, field: _Field) -> str:
        if not field.name:
            return ""
        align = field.alignment[-1:]
        return format(self._headings[field.name], align + str(field.width or ""))

    def _fitted(self, items: Sequence[Any], header: bool) -> list[_Field]:
        """Return the fields as `?:` and `+:` demand: without empty columns, and widened."""
        kept: list[_Field] = []
        for field in self._fields:
            values = [str(self._read(item, field)) for item in items] if field.drop or field.widen else []
            if field.drop and all(value in _EMPTY for value in values):
                continue
            longest = (
                max(map(len, [*values, self._headings[field.name] if header else ""])) if field.widen else 0
            )
            kept.append(field.wide(longest) if field.widen else field)
        return kept

    def _read(self, item: Any, field: _Field) -> Any:
        value = self._value(item, field.name)
        return (
            "" if field.conversion and value in ("", None) else _CONVERSIONS[field.conversion](value, field)
        )

    def _cell(self, item: Any, field: _Field) -> str:
        return field.show(self._read(item, field)) if field.name else ""


_CONVERSIONS: dict[str, Callable[[Any, _Field], Any]] = {
    "": lambda value, _field: value,
    "F": lambda value, _field: durations.encode(float(value)),
    "d": lambda value, field: time.strftime(field.times or "%c", time.localtime(value)) if value else "",
}
