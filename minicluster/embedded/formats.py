"""Flux's `-o` format strings: Python's replacement fields with a few marks of Flux's own.

Before a field: `?:` leaves the column out where every value is empty, `+:` widens it to the longest value,
`?+:` does both; `sort:KEY,-KEY ` at the start orders the rows. After a field: conversions !D !d !F !H and the
suffixes `h` (a hyphen for an empty value) and `+` (a plus sign where the value was cut). See flux-jobs(1).
"""

from __future__ import annotations

import re
import time
from _string import formatter_parser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MARKS = ("?+:", "?:", "+:")
_SPEC = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[- +]?z?#?0?)(?P<width>\d*)(?P<group>[_,]?)"
    r"(?:\.(?P<precision>\d+))?(?P<type>[bcdeEfFgGnosxX%]?)(?P<hyphen>h?)(?P<cut>\+?)",
    re.DOTALL,
)
_EMPTY = ("", "0s", "0.0", "0:00:00", "1970-01-01T00:00:00")


def headings(words: str) -> dict[str, str]:
    """Column heads from words FIELD or FIELD=HEAD; a head left out is the field in capitals."""
    pairs = (word.partition("=") for word in words.split())
    return {field: head if equals else field.upper().replace(".", "-") for field, equals, head in pairs}


class FormatError(ValueError):
    """The format string is wrong; the text says how."""


class _Field:
    """One replacement field with the text before it."""

    __slots__ = ("conversion", "drop", "name", "spec", "text", "times", "widen")

    def __init__(self, text: str, name: str, spec: str, conversion: str) -> None:
        mark = next((mark for mark in _MARKS if text.endswith(mark)), "") if name else ""
        self.text = text.removesuffix(mark)
        self.drop, self.widen = "?" in mark, "+" in mark
        self.name = name
        self.conversion = conversion
        self.times, _colons, rest = spec.partition("::") if conversion == "d" else ("", "", spec)
        found = _SPEC.fullmatch(rest)
        if found is None:
            raise FormatError(f"Invalid format specifier '{spec}' for field {name}")
        self.spec = found.groupdict()


class OutputFormat:
    """A format of the fields in `headings` (field → head); `value(item, field)` reads them."""

    def __init__(
        self,
        text: str,
        headings: Mapping[str, str],
        value: Callable[[Any, str], Any],
        sort: str | None = None,
    ) -> None:
        """`sort` is KEY,-KEY… in place of what the format itself says. Raises FormatError."""
        self._headings = headings
        self._value = value
        found = re.match(r"sort:([^{\s]+) ?", text)
        keys = sort or (found[1] if found else "")
        self._order = [(key.removeprefix("-"), key.startswith("-")) for key in keys.split(",") if key]
        try:
            parsed = formatter_parser(text[found.end() :] if found else text)
            self._fields = [_Field(*(piece or "" for piece in part)) for part in parsed]
        except ValueError as error:
            raise FormatError(str(error)) from None
        for field in self._fields:
            if field.name:
                self._head(field.name)
        for name, _reverse in self._order:
            if name not in headings:
                raise FormatError(f"Invalid sort key: {name}")

    @property
    def names(self) -> list[str]:
        """The fields that occur, those to sort by too."""
        return [field.name for field in self._fields if field.name] + [name for name, _reverse in self._order]

    def table(self, items: Sequence[Any], *, header: bool = True) -> Iterable[str]:
        """Yield the lines of the table."""
        fields = self._fitted(items, header)
        if header:
            yield "".join(field.text + self._column_head(field) for field in fields)
        for item in items:
            yield "".join(field.text + self._cell(item, field) for field in fields)

    def sorted(self, items: Iterable[Any]) -> list[Any]:
        """Return the items in the order that the sort keys give."""
        result = list(items)
        for name, reverse in reversed(self._order):
            keys = {id(item): _ordered(self._value(item, name)) for item in result}
            result.sort(key=lambda item, keys=keys: keys[id(item)], reverse=reverse)  # type: ignore[misc]
        return result

    def _head(self, name: str) -> str:
        if name in self._headings:
            return self._headings[name]
        if name.split(".", maxsplit=1)[0] + ".*" in self._headings:
            return name.upper()
        raise FormatError(f"Unknown format field: {name}")

    def _column_head(self, field: _Field) -> str:
        if not field.name:
            return ""
        return format(self._head(field.name), (field.spec["align"] or "") + field.spec["width"])

    def _fitted(self, items: Sequence[Any], header: bool) -> list[_Field]:
        """The fields without empty columns, widened as their marks say."""
        kept: list[_Field] = []
        for field in self._fields:
            if field.drop or field.widen:
                values = [_text(_converted(self._value(item, field.name), field)) for item in items]
                if field.drop and all(value in _EMPTY for value in values):
                    continue
                if field.widen:
                    longest = [len(value) for value in values] + [
                        len(self._head(field.name)) if header else 0
                    ]
                    _widen(field, max(longest))
            kept.append(field)
        return kept

    def _cell(self, item: Any, field: _Field) -> str:
        if not field.name:
            return ""
        return _formatted(_converted(self._value(item, field.name), field), field.spec)


def _ordered(value: Any) -> tuple[bool, Any]:
    """A key that orders numbers before text."""
    number = isinstance(value, int | float)
    return (not number, value if number else str(value))


def _widen(field: _Field, width: int) -> None:
    spec = dict(field.spec)
    width = max(width, int(spec["width"] or 0))
    spec["width"] = str(width)
    if spec["precision"] and not spec["type"]:
        spec["precision"] = str(max(width, int(spec["precision"])))
    field.spec = spec


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _converted(value: Any, field: _Field) -> Any:
    convert = _CONVERSIONS.get(field.conversion)
    if convert is None:
        raise FormatError(f"Unknown conversion specifier {field.conversion}")
    return "" if field.conversion in "DdFH" and value in ("", None) else convert(value, field)


def _stamp(value: Any, form: str) -> str:
    return time.strftime(form, time.localtime(value)) if value else ""


_CONVERSIONS: dict[str, Callable[[Any, _Field], Any]] = {
    "": lambda value, _field: value,
    "s": lambda value, _field: str(value),
    "r": lambda value, _field: repr(value),
    "F": lambda value, _field: fsd(float(value)),
    "H": lambda value, _field: clock(float(value)),
    "D": lambda value, _field: _stamp(value, "%Y-%m-%dT%H:%M:%S"),
    "d": lambda value, field: _stamp(value, field.times or "%c"),
}


def _formatted(value: Any, spec: Mapping[str, str]) -> str:
    kind = spec["type"]
    if spec["hyphen"] and _text(value) in _EMPTY:
        value, kind = "-", ""
    if isinstance(value, str):
        return _cut_and_padded(value, spec)
    if not isinstance(value, int | float):
        return _cut_and_padded(_text(value), spec)
    precision = f".{spec['precision']}" if spec["precision"] and (kind or isinstance(value, float)) else ""
    return format(value, _placed(spec) + spec["group"] + precision + kind)


def _cut_and_padded(value: str, spec: Mapping[str, str]) -> str:
    most = int(spec["precision"] or 0)
    if most and len(value) > most:
        value = value[: most - 1] + "+" if spec["cut"] else value[:most]
    return format(value, (spec["fill"] or "") + (spec["align"] or "") + spec["width"])


def _placed(spec: Mapping[str, str]) -> str:
    return (spec["fill"] or "") + (spec["align"] or "") + spec["sign"] + spec["width"]


def fsd(seconds: float) -> str:
    """A Flux Standard Duration (RFC 23) for people: 0.203s, 42.5s, 1.5m, 2h, 3d, inf."""
    if seconds == float("inf"):
        return "inf"
    if seconds < 0.001:
        return "0s"
    if seconds < 10:
        return f"{seconds:.3f}s"
    for unit, size, stop in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 86400)):
        if seconds < stop:
            return f"{seconds / size:.4g}{unit}"
    return f"{seconds / 86400:.4g}d"


def clock(seconds: float) -> str:
    """Hours:minutes:seconds; what is under a second counts as one."""
    whole = 1 if 0 < seconds < 1 else round(seconds)
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    named = "" if not days else "1 day, " if days == 1 else f"{days} days, "
    return f"{named}{hours}:{rest // 60:02d}:{rest % 60:02d}"
