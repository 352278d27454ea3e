"""The value of --timeout: how long a command may take, or wait."""

from __future__ import annotations


def seconds(text: str) -> float:
    """Return the seconds of a Flux standard duration (RFC 23); a number without a unit is seconds.

    Raises DurationError, also for 0.
    """
    from broker_config.formats import durations
    from broker_config.formats.errors import DurationError

    found = durations.given(text)
    if not found:
        raise DurationError(f"{text!r} is no time above 0; right would be {durations.EXAMPLES}")
    return found
