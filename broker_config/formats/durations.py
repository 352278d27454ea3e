"""Flux Standard Durations (RFC 23): `100ms`, `5s`, `1.5m`, `2h`, `1d`, bare seconds, both ways."""

from __future__ import annotations

from broker_config.formats.errors import DurationError

EXAMPLES = "30s, 5m, 1.5h or 2d"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str, bare: float = 1.0) -> float:
    """Return a duration in seconds; a number without a unit is one of `bare`, in seconds.

    Raises DurationError, in Flux's words.
    """
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        number = float(text[: len(text) - len(unit)])
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise DurationError("invalid Flux standard duration")
    return number * _UNITS.get(unit, bare)


def given(text: str, bare: float = 1.0) -> float:
    """Return the duration that a user gave, as `seconds` does. Raises DurationError, which quotes it."""
    try:
        return seconds(text, bare)
    except DurationError:
        raise DurationError(f"{text[:40]!r} is no duration; right would be {EXAMPLES}") from None


def setting(value: object, name: str) -> float:
    """Return the duration of a setting in seconds, 0 for `none`. Raises DurationError, which names it."""
    try:
        return 0.0 if value in ("none", "infinity", "inf") else seconds(str(value))
    except DurationError:
        raise DurationError(
            f"{name}: {str(value)!r} is no duration; right would be 5s, 1.5m, 2h, 1d or none"
        ) from None


def encode(duration: float) -> str:
    """Return seconds in the form for users: 0.203s, 42.5s, 1.5m, 2h, 3d, inf."""
    if duration == float("inf"):
        return "inf"
    if duration < 0.001:
        return "0s"
    if duration < 10:
        return f"{duration:.3f}s"
    for unit, size, stop in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 86400)):
        if duration < stop:
            return f"{duration / size:.4g}{unit}"
    return f"{duration / 86400:.4g}d"
