"""Flux Standard Durations (RFC 23): `100ms`, `5s`, `1.5m`, `2h`, `1d`, bare seconds."""

from __future__ import annotations

from minicluster.embedded.errors import ConfigurationError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """Read a duration. Raises ValueError."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        number = float(text.removesuffix(unit))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError("invalid Flux standard duration")
    return number * _UNITS.get(unit, 1.0)


def configured(value: object, name: str) -> float:
    """Read the duration of a setting, 0 for `none`. Raises ConfigurationError."""
    try:
        return 0.0 if value in ("none", "infinity", "inf") else seconds(str(value))
    except ValueError:
        raise ConfigurationError(
            f"{name}: {str(value)!r} is no duration; right would be 5s, 1.5m, 2h, 1d or none"
        ) from None
