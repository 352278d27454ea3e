"""Bursts on node pools of a cluster of Google Kubernetes Engine: one pool a burst, and pods on its nodes.

`settings` is what an administrator writes, `node_pool` the pool that is asked for (pure), `reports` what
pools and machines mean (pure), `pools` the calls, `preflight` what is wrong beforehand, `provider` puts all
together.
"""

from burst.providers.gke.kind import KIND

__all__ = ["KIND"]
