"""The errors between an instance and a malleable program, as one tree.

MalleableError
├── CredentialsError   the file that MINICLUSTER_MALLEABLE names is not there or not what it should be
├── ProtocolError      a line that is not of the protocol, or not now; the text is for the other side
├── NotAccepting       an order for a job whose program takes none now
├── Refusal            raised by a program's hook: the order is refused, with this reason
├── Rejected           the instance does not take a program or a worker; the text is its reason
└── TeamError          the tasks of a program cannot reach each other, or one of them is gone
"""

from __future__ import annotations


class MalleableError(Exception):
    """Root of the tree."""


class CredentialsError(MalleableError):
    """The file with the job's credentials cannot be used; the message names it."""


class ProtocolError(MalleableError):
    """A line violates the protocol; the message can be sent to its sender."""


class NotAccepting(MalleableError):  # noqa: N818 - named for the state it reports
    """The job's program is not registered, deregistered, or amid an order."""


class Refusal(MalleableError):  # noqa: N818 - it is one, and no error
    """A hook of the program refuses an order; the text is the reason that the instance receives."""


class Rejected(MalleableError):  # noqa: N818 - named for what happened
    """The instance did not take this program or worker."""


class TeamError(MalleableError):
    """The tasks of a program cannot reach each other."""
