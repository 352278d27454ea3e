"""Idsets (RFC 22): `0-3,7` and the ascending ids it stands for, both ways.

A set of cores or GPUs is also kept as a number, whose bit N is set where it has the id N: it is small and
quickly compared. Source: Flux RFC 22; `MAX_IDS` is a bound of ours against slips.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from broker_config.formats.errors import IdsetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_IDS = 1 << 22
"""A set with more ids is assumed to be a mistake."""

_ONES = re.compile("1+")
_ITEM = re.compile(r"(0|[1-9][0-9]{0,17})(?:-(0|[1-9][0-9]{0,17}))?")


def decode(text: str) -> tuple[int, ...]:
    """Return the ids in `text`, ascending. Raises IdsetError, which names the first wrong character."""
    return tuple(chain.from_iterable(_ranges(text)))


def count(text: str) -> int:
    """Return how many ids `text` has, without making them. Raises IdsetError as `decode` does."""
    return sum(map(len, _ranges(text)))


def _ranges(text: str) -> Iterator[range]:
    start, stop = 0, len(text)
    if text.startswith("[") or text.endswith("]"):
        if not (text.startswith("[") and text.endswith("]") and stop >= 2):
            raise _error(text, 0, "a bracket opens or closes nothing")
        start, stop = 1, stop - 1
    previous, total = -1, 0
    for item in text[start:stop].split(",") if start < stop else ():
        first, last = _range(text, start, item)
        if first <= previous:
            raise _error(text, start, f"{item} does not come after {previous}: ids ascend")
        total += last - first + 1
        if total > MAX_IDS:
            raise _error(text, start, f"more than {MAX_IDS} ids")
        yield range(first, last + 1)
        previous = last
        start += len(item) + 1


def decode_bits(text: str) -> int:
    """Return the set as a number whose bit N is set for each id N. Raises IdsetError as `decode` does."""
    found = list(_ranges(text))
    if not found:
        return 0
    if found[-1].stop > MAX_IDS:
        raise _error(text, 0, f"id {found[-1][-1]} is greater than {MAX_IDS - 1}")
    if len(found) == 1:  # as nearly all sets of cores
        return ((1 << len(found[0])) - 1) << found[0].start
    written: list[str] = []
    stop = 0
    for each in found:
        written += ("0" * (each.start - stop), "1" * len(each))
        stop = each.stop
    return int("".join(written)[::-1], 2)


def encode(ids: Iterable[int]) -> str:
    """Return the usual form of `ids` (in any order, repetitions counting once), neighbours as ranges.

    A `range` is written from its ends. Raises IdsetError for a negative id.
    """
    if isinstance(ids, range) and ids and ids.start >= 0 and ids.step == 1:
        return _written(ids[0], ids[-1])
    runs: list[list[int]] = []
    for each in sorted(set(ids)):
        if each < 0:
            raise IdsetError(f"an idset holds no negative id: {each}")
        if runs and each == runs[-1][1] + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ",".join(_written(first, last) for first, last in runs)


def encode_ranges(ranges: Iterable[range]) -> str:
    """Return the usual form of ascending ranges of ids, of one step each, without making their ids."""
    runs: list[tuple[int, int]] = []
    for each in filter(None, ranges):
        first = runs.pop()[0] if runs and runs[-1][1] + 1 == each[0] else each[0]
        runs.append((first, each[-1]))
    return ",".join(_written(first, last) for first, last in runs)


def encode_bits(bits: int) -> str:
    """Return the usual form of a set that is a number, see `decode_bits`."""
    return ",".join(_written(run.start(), run.end() - 1) for run in _ONES.finditer(_lowest_first(bits)))


def ids_of(bits: int) -> tuple[int, ...]:
    """Return the ids of a set that is a number, ascending."""
    return tuple(position for position, digit in enumerate(_lowest_first(bits)) if digit == "1")


def size_of(bits: int) -> int:
    """Return how many ids a set has that is a number."""
    return bin(bits).count("1")  # noqa: FURB161 - int.bit_count is not in Python 3.8


def bracketed(ids: Iterable[int]) -> str:
    """Return the form that Flux shows to users: `3`, but `[0-3]`."""
    text = encode(ids)
    return text if text.isdigit() else f"[{text}]"


def _lowest_first(bits: int) -> str:
    return bin(bits)[:1:-1]


def _written(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _range(text: str, offset: int, item: str) -> tuple[int, int]:
    match = _ITEM.fullmatch(item)
    if not match:
        raise _error(text, offset, f"{item!r} is neither an id (no leading zeros) nor a range like 0-3")
    first, last = int(match[1]), int(match[2] or match[1])
    if match[2] and last <= first:
        raise _error(text, offset, f"range {item} does not ascend")
    return first, last


def _error(text: str, offset: int, problem: str) -> IdsetError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return IdsetError(f"idset {shown!r}, character {offset + 1}: {problem}")
