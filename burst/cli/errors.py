"""What commands about bursts cannot do."""

from __future__ import annotations

from minicluster.backends.errors import BackendError, WrongRequest


class ClusterUnknown(WrongRequest):
    """No MiniCluster of this name is up whose bursts are managed."""


class PlanChanged(WrongRequest):
    """The plan that is to be applied is not the present one any more."""


class ServiceSweeps(WrongRequest):
    """A service runs, which sweeps by itself."""


class TimeInvalid(WrongRequest):
    """A text is no date, and no time."""


class ReportNotWritten(WrongRequest):
    """The file of a report cannot be written."""


class ProviderUnknown(WrongRequest):
    """The settings have no provider of this name."""


class ServicePodAbsent(BackendError):  # noqa: N818 - named for the state that it reports, as the others
    """No pod of a burst service runs where it is looked for, or it is not known which one is meant."""


class ServedByItself(WrongRequest):
    """A service in a cluster makes its bursts by itself."""
