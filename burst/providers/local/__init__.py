"""The provider `local`: brokers of a burst as processes on this machine, for MiniClusters of this machine.

Each burst has a directory, and a supervisor that starts its brokers and ends them in time; the service that
had it made may be dead by then.
"""

from burst.providers.local.kind import KIND

__all__ = ["KIND"]
