"""The errors of the formats: one class for each format, below one root.

ParseError                 a text or document does not follow its format; the message has the position
├── HostlistError          RFC 29
├── IdsetError             RFC 22
├── ResourceSetError       RFC 20
├── JobspecError           RFC 14, RFC 25
├── ConstraintError        RFC 31
├── JobIdError             RFC 19
├── DurationError          RFC 23
├── EnvRuleError           flux-submit(1), "ENV RULES"
├── DirectiveError         RFC 36
├── CpuListError           flux-shell-options(7), `cpu-affinity=map:`
├── BootstrapError         the table [bootstrap] of broker.toml
└── SignedJobspecError     RFC 15
"""

from __future__ import annotations


class ParseError(ValueError):
    """A text or a document does not follow its format."""


class HostlistError(ParseError):
    """The text is no RFC 29 hostlist."""


class IdsetError(ParseError):
    """The text is no RFC 22 idset."""


class ResourceSetError(ParseError):
    """The document is no RFC 20 resource set, or one that Flux would refuse."""


class JobspecError(ParseError):
    """The document is no RFC 25 jobspec that this project runs; the text is Flux's own where it has one."""


class ConstraintError(ParseError):
    """The document is no RFC 31 constraint."""


class JobIdError(ParseError):
    """The text is no RFC 19 job id."""


class DurationError(ParseError):
    """The text is no RFC 23 duration."""


class EnvRuleError(ParseError):
    """The text is no rule of flux-submit(1) for the environment of a job."""


class DirectiveError(ParseError):
    """A batch script has a comment that is no RFC 36 directive."""


class CpuListError(ParseError):
    """The text is no set of CPUs, or of no CPU; the text is Flux's own."""


class BootstrapError(ParseError):
    """The table [bootstrap] of broker.toml does not have all hosts and endpoints."""


class SignedJobspecError(ParseError):
    """The text is no RFC 15 signed jobspec."""
