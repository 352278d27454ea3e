"""MiniCluster manager: run HPC workloads with Flux on Kubernetes, or on this machine.

Importing this package imports nothing else; each room is imported by name.
"""

__version__ = "0.1.0"


def scale(size: int) -> None:
    """Ask that the MiniCluster in which this process runs has so many brokers, and return at once.

    Raises `minicluster.within.WithinError`, which has the reason; see there.
    """
    from minicluster.within import scaling  # noqa: PLC0415 - see above

    scaling.scale(size)
