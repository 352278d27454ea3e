"""Idsets (RFC 22): `0-3,7` and the ascending ids it stands for, both ways.

Source: Flux RFC 22; `MAX_IDS` is a bound of ours against slips.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from broker_config.errors import IdsetError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_IDS = 1 << 22
"""More ids than this in one set is taken for a slip."""

_ITEM = re.compile(r"(0|[1-9][0-9]{0,17})(?:-(0|[1-9][0-9]{0,17}))?")


def decode(text: str) -> tuple[int, ...]:
    """The ids in `text`, ascending. Raises IdsetError, which says at which character it is wrong."""
    start, stop = 0, len(text)
    if text.startswith("[") or text.endswith("]"):
        if not (text.startswith("[") and text.endswith("]") and stop >= 2):
            raise _error(text, 0, "a bracket opens or closes nothing")
        start, stop = 1, stop - 1
    ids: list[int] = []
    if start == stop:
        return ()
    for item in text[start:stop].split(","):
        first, last = _range(text, start, item)
        if ids and first <= ids[-1]:
            raise _error(text, start, f"{item} does not come after {ids[-1]}: ids ascend")
        if last - first >= MAX_IDS - len(ids):
            raise _error(text, start, f"more than {MAX_IDS} ids")
        ids.extend(range(first, last + 1))
        start += len(item) + 1
    return tuple(ids)


def encode(ids: Iterable[int]) -> str:
    """The usual form of `ids` (in any order, repetitions counting once), neighbours as ranges."""
    runs: list[list[int]] = []
    for each in sorted(set(ids)):
        if each < 0:
            raise IdsetError(f"an idset holds no negative id: {each}")
        if runs and each == runs[-1][1] + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


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
