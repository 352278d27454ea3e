"""Job ids: FLUIDs and their encodings (RFC 19), without the mnemonic words."""

from __future__ import annotations

import re

from broker_config.formats.errors import JobIdError

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_LARGEST = (1 << 63) - 1
_DOTHEX = re.compile(r"[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){3}")
_MS_SHIFT = 24  # 14 bits of generator id (always 0: the lead makes all ids), 10 bits of sequence
_SEQUENCES = 1 << 10


def f58(number: int) -> str:
    """Return the usual form, such as ƒuZZybuNNy."""
    return "ƒ" + _base58(number)


def f58plain(number: int) -> str:
    """Return the usual form in ASCII, such as fuZZybuNNy."""
    return "f" + _base58(number)


def dothex(number: int) -> str:
    """Return four groups of four hexadecimal digits, such as 0017.e9fb.8df1.6c2e."""
    digits = f"{number:016x}"
    return ".".join(digits[start : start + 4] for start in range(0, 16, 4))


def kvs(number: int) -> str:
    """Return the directory of the job in Flux's key-value store, such as job.0017.e9fb.8df1.6c2e."""
    return "job." + dothex(number)


def parse(text: str) -> int:
    """Read any encoding: decimal, 0x hexadecimal, dotted, kvs, F58 with ƒ or f. Raises JobIdError."""
    word = text.strip()
    number = _number(word)
    if number is None or not 0 <= number <= _LARGEST:
        raise JobIdError(f'"{text}" is not a valid jobid')
    return number


def _number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= 20 else None
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", word):
        return int(word, 16)
    dotted = word.removeprefix("job.")
    if _DOTHEX.fullmatch(dotted):
        return int(dotted.replace(".", ""), 16)
    if word[:1] in ("ƒ", "f"):
        return _unbase58(word[1:])
    return None


def _base58(number: int) -> str:
    if number < 0:
        raise JobIdError(f"a job id is not negative: {number}")
    digits = ""
    while True:
        number, rest = divmod(number, 58)
        digits = _ALPHABET[rest] + digits
        if not number:
            return digits


def _unbase58(digits: str) -> int | None:
    if not digits or len(digits) > 11:
        return None
    number = 0
    for character in digits:
        value = _VALUES.get(character)
        if value is None:
            return None
        number = number * 58 + value
    return number


class IdMaker:
    """Makes ids that increase: milliseconds since the instance's epoch, then a sequence number."""

    def __init__(self, epoch: float, largest: int = 0) -> None:
        self._epoch = epoch
        self._last = largest

    def next(self, now: float) -> int:
        """Return a new id, larger than all before it."""
        self._last = max(int((now - self._epoch) * 1000) << _MS_SHIFT, self._following())
        return self._last

    def _following(self) -> int:
        if self._last % _SEQUENCES + 1 < _SEQUENCES:
            return self._last + 1
        return ((self._last >> _MS_SHIFT) + 1) << _MS_SHIFT
