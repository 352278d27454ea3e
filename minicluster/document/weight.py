"""How much time a document may take to read and to plan, estimated without expanding or parsing anything.

A weight counts, roughly, microseconds on a machine of 2024. Most documents weigh less than 1,000. The most
that a field can cost for each character was measured with `benchmarks/heavy_documents.py` (decision 0038).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from broker_config.formats import hostlist
from broker_config.formats.errors import ParseError
from minicluster.document.positions import written_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.document.positions import Path

HEAVY = 32_768
"""The weight from which on a document is not planned beside others."""

ENTRY = 32
"""Of each key and each item of a list, whatever is in it: it is checked and becomes an object's part."""
PASSED_ON = 16
"""How many characters of a text that is only passed on weigh 1."""
PER_PARSED = 3
"""How much a character of a text weighs that is parsed."""
PARSED = frozenset({"brokerConfig", "command", "hostlist", "optionFlags", "prefix", "submitCommand", "wrap"})
"""The fields with texts that are parsed."""
MAX_STEPS = 4
"""How deep `heaviest` looks: `spec.containers[0].command`."""

# A bracket with something behind it, or an escape that may stand for one: such hosts are no ranges.
_INNER_BRACKET = re.compile(r"""\][^\],}\s"']|\\[uU]""")


def is_heavy(item: Any) -> bool:
    """Return whether a document, as JSON has it, may take long. What it is in detail is not looked at."""
    return of(item, HEAVY) >= HEAVY


def of(value: Any, enough: int | None = None, field: str = "") -> int:
    """Return the weight of a value in this field of a document; of more than `enough` only that it is so."""
    total = 0
    waiting = [(field, value)]
    while waiting and (enough is None or total < enough):
        name, each = waiting.pop()
        if isinstance(each, dict):
            total += ENTRY * len(each)
            waiting += each.items()
        elif isinstance(each, list):
            total += ENTRY * len(each)
            waiting += ((name, one) for one in each)
        elif isinstance(each, str):
            total += _of_text(name, each)
    return total


def heaviest(item: Any) -> str:
    """Return the path of what makes a document heavy: the part that weighs at least half of it."""
    path: Path = ()
    half, value = of(item) // 2, item
    while len(path) < MAX_STEPS:
        heavy = (step for step, part in _parts(value) if of(part, half, str(step)) >= half)
        step = next(heavy, None)
        if step is None:
            break
        path, value = (*path, step), value[step]
    return written_path(path)


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _of_text(name: str, text: str) -> int:
    if name not in PARSED:
        return len(text) // PASSED_ON
    weight = PER_PARSED * len(text)
    if weight < HEAVY and name == "hostlist":
        return weight + _written_out(text)
    if weight < HEAVY and name == "brokerConfig" and _INNER_BRACKET.search(text):
        return HEAVY
    return weight


def _written_out(text: str) -> int:
    try:
        return hostlist.written_out(text)
    except ParseError:
        return 0
