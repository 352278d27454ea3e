"""Values of broker.toml that several modules read in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import durations
from broker_config.formats.errors import DurationError
from minicluster.embedded.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def job_defaults(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what jobs get that name none of it: `[policy.jobspec.defaults.system]`."""
    jobspec = config.get("policy", {}).get("jobspec", {})
    found: Mapping[str, Any] = jobspec.get("defaults", {}).get("system", {})
    return found


def configured(value: object, name: str) -> float:
    """Return the duration of a setting in seconds, 0 for `none`. Raises ConfigurationError."""
    try:
        return durations.setting(value, name)
    except DurationError as error:
        raise ConfigurationError(str(error)) from None
