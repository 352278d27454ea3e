"""`scale()`: another size for the MiniCluster that a program runs in."""

from __future__ import annotations

import os
from pathlib import Path

from minicluster.within import context, service_account, supervisor
from minicluster.within.errors import RefusedError


def is_inside() -> bool:
    """Whether this process runs inside of a MiniCluster, on Kubernetes or on this machine."""
    return bool(os.environ.get(context.CONTROL) or os.environ.get(context.NAME))


def scale(size: int) -> None:
    """Ask that the MiniCluster in which this process runs has so many brokers, and return at once.

    Brokers join within seconds; a job that needs more nodes than there are waits for them in the queue.
    Brokers that leave are drained first: their jobs have spec.drainTimeoutSeconds to end, this one as well.

    Raises WithinError outside of any MiniCluster and for a size that is not allowed. On Kubernetes it also
    does where the pod has no token of a service account, or that account may not patch the scale subresource.
    """
    if size < 1:
        raise RefusedError(f"a MiniCluster cannot be asked from inside to have {size} brokers: at least 1")
    control = os.environ.get(context.CONTROL)
    if control:
        supervisor.scale(Path(control), size)
    else:
        service_account.scale(context.in_pod(os.environ), size)
