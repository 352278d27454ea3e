"""Bursts as pods in a Kubernetes cluster that is there, without an operator or a cloud's credentials.

`settings` is what an administrator writes, `access` how the cluster is reached, `reports` (pure) what objects
mean, `objects` the requests, `preflight` what is wrong beforehand, `provider` the calls.
"""

from burst.providers.kubernetes.kind import KIND

__all__ = ["KIND"]
