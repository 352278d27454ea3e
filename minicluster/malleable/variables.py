"""The variables by which an instance leads a malleable job's tasks to it."""

from __future__ import annotations

PATH_VARIABLE = "MINICLUSTER_MALLEABLE"
"""The path of the file with the job's credentials, see `credentials`."""
ORDER_VARIABLE = "MINICLUSTER_MALLEABLE_ORDER"
"""Set for tasks that an order to grow has started: the order's number."""
