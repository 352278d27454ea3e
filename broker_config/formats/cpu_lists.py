"""Sets of CPUs as `-o cpu-affinity=map:LIST` has them: lists, hwloc's bitmaps, or masks as of taskset(1).

    0-3,8        a list; `4-` goes up to the machine's last CPU
    0xff         a mask
    0x1,0xf      a bitmap: words of 32 bits, the highest first

Source: flux-shell-options(7), hwlocality_bitmap(3).
"""

from __future__ import annotations

import re

from broker_config.formats.errors import CpuListError

_ITEM = re.compile(r"([0-9]+)(?:(-)([0-9]*))?")
_WORD = re.compile(r"0x[0-9a-fA-F]{1,8}")
_MASK = re.compile(r"0x[0-9a-fA-F]+")
_WORD_BITS = 32


def decode(text: str, count: int) -> frozenset[int]:
    """Return the CPUs of a set, on a machine with `count` CPUs.

    Raises CpuListError, in Flux's words, for what is no set, and for one without CPUs.
    """
    bits = _bits(text) if text.startswith("0x") else _listed(text, count)
    if not bits:
        raise CpuListError(f"cpuset {text} contains no cores or is invalid")
    return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def decode_all(text: str, tasks: int, count: int) -> list[frozenset[int]]:
    """Return the CPUs of each of some tasks, from sets with `;` between: these are used again where too few.

    Raises CpuListError.
    """
    given = [decode(each, count) for each in [part for part in text.split(";") if part][:tasks]]
    if not given:
        raise CpuListError(f"no cpusets found in affinity list {text}")
    return [given[index % len(given)] for index in range(tasks)]


def _bits(text: str) -> int:
    words = text.split(",")
    if len(words) == 1:
        return int(text, 16) if _MASK.fullmatch(text) else 0
    if not all(_WORD.fullmatch(word) for word in words):
        return 0
    bits = 0
    for word in words:
        bits = bits << _WORD_BITS | int(word, 16)
    return bits


def _listed(text: str, count: int) -> int:
    bits = 0
    for item in text.split(","):
        found = _ITEM.fullmatch(item)
        if found is None:
            return 0
        first, dash, last = found.groups()
        end = int(last) if last else count - 1 if dash else int(first)
        if end < int(first):
            return 0
        bits |= (1 << end + 1) - (1 << int(first))
    return bits
