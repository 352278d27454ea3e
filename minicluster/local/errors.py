"""The errors of clusters on this machine, as one tree below that of all back ends.

The exit code of each is 125, where it has no other one.

LocalError (BackendError)
├── UsageProblem          (WrongRequest) the request does not fit the document or this machine
│   ├── SizeRefused       a size outside of what the document allows
│   ├── VolumeRefused     a volume that cannot be a directory here
│   └── EngineMissing     the engine asked for is not on this machine
├── StateDirectoryError   the state directory cannot be made or written, or is not ours alone
├── PortTaken             another program listens where the lead broker should
├── ClusterExists         a cluster of that name is up already
├── NoSuchCluster         (NoCluster) no cluster of that name is up
├── BringUpFailed         the brokers did not come up, with the last log lines of the one that failed
├── LeadLost              the lead broker ended before the main command did
├── TimeOver              (OutOfTime) --timeout passed first
├── Interrupted           Ctrl-C or SIGTERM; carries the signal
└── SupervisorError       the supervisor refused an order, or did not answer
"""

# ruff: noqa: N818 - errors are named for the state that they report

from __future__ import annotations

from minicluster.backends.errors import BackendError, NoCluster, OutOfTime, WrongRequest


class LocalError(BackendError):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code = 125


class UsageProblem(LocalError, WrongRequest):
    """The request does not fit the document or this machine."""

    exit_code = 2


class SizeRefused(UsageProblem):
    """A size outside of what the document allows."""


class VolumeRefused(UsageProblem):
    """A volume that cannot be a directory here."""


class EngineMissing(UsageProblem):
    """The engine asked for is not on this machine."""


class StateDirectoryError(LocalError):
    """The state directory cannot be made or written, or is not ours alone."""


class PortTaken(LocalError):
    """Another program listens where the lead broker should."""


class ClusterExists(LocalError):
    """A cluster of that name is up already."""


class NoSuchCluster(LocalError, NoCluster):
    """No cluster of that name is up."""

    exit_code = NoCluster.exit_code


class BringUpFailed(LocalError):
    """The brokers did not come up."""


class LeadLost(LocalError):
    """The lead broker ended before the main command did."""


class TimeOver(LocalError, OutOfTime):
    """The time given with --timeout passed first."""

    exit_code = 124


class Interrupted(LocalError):
    """Ctrl-C or SIGTERM."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        self.exit_code = 128 + signum
        super().__init__("interrupted" if signum == 2 else f"ended by signal {signum}")


class SupervisorError(LocalError):
    """The supervisor refused an order, or did not answer."""
