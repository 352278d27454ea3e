"""Names of queues, and of properties in R (RFC 20), that keep the jobs of bursts from ordinary ones."""

DEFAULT_QUEUE = "default"
"""The queue of ordinary jobs."""
LOCAL = "local"
"""The property of a MiniCluster's own ranks."""
BURST = "burst"
"""The property of all slots' ranks, and the queue in which jobs wait for a burst: the waiting room."""
