"""The errors of this package.

    BrokerConfigError          what the caller gave cannot be made into a broker's files
    ├── ParseError             a text is not what it should be; says where
    │   ├── HostlistError      RFC 29
    │   ├── IdsetError         RFC 22
    │   ├── ResourceSetError   RFC 20
    │   ├── CurveError         a CURVE certificate
    │   └── BrokerTomlError    a broker.toml given by the user
    └── SettingsError          settings that contradict each other

No message holds a secret key.
"""

from __future__ import annotations


class BrokerConfigError(ValueError):
    """What the caller gave cannot be made into a broker's files."""


class ParseError(BrokerConfigError):
    """A text is not what it should be."""


class HostlistError(ParseError):
    """Not an RFC 29 hostlist."""


class IdsetError(ParseError):
    """Not an RFC 22 idset."""


class ResourceSetError(ParseError):
    """Not an RFC 20 resource set, or one that Flux would refuse."""


class CurveError(ParseError):
    """Not a CURVE certificate that Flux accepts."""


class BrokerTomlError(ParseError):
    """Not a broker.toml that brokers can start from."""


class SettingsError(BrokerConfigError):
    """Settings that contradict each other."""
