"""Values of broker.toml that several modules read in the same way."""

from __future__ import annotations

from broker_config.formats import durations
from broker_config.formats.errors import DurationError
from minicluster.embedded.errors import ConfigurationError


def configured(value: object, name: str) -> float:
    """Return the duration of a setting in seconds, 0 for `none`. Raises ConfigurationError."""
    try:
        return durations.setting(value, name)
    except DurationError as error:
        raise ConfigurationError(str(error)) from None
