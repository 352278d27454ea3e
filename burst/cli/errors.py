"""What commands about bursts cannot do."""

from __future__ import annotations

from minicluster.backends.errors import WrongRequest


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
