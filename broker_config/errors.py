"""The errors of this package; those of a single format are in `formats.errors`.

    BrokerConfigError          the caller's values cannot be made into a broker's files
    ├── CurveError             a CURVE certificate
    ├── BrokerTomlError        a broker.toml given by the user
    └── SettingsError          settings that contradict each other

No message contains a secret key.
"""

from __future__ import annotations


class BrokerConfigError(ValueError):
    """The caller's values cannot be made into a broker's files."""


class CurveError(BrokerConfigError):
    """Not a CURVE certificate that Flux accepts."""


class BrokerTomlError(BrokerConfigError):
    """Not a broker.toml that brokers can start from."""


class SettingsError(BrokerConfigError):
    """Settings that contradict each other."""
