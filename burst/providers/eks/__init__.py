"""Bursts on managed node groups of Amazon EKS: one a burst, in a cluster that is there.

`settings` is what an administrator writes, `clients` how AWS is asked, `reports` (pure) what a node group and
its machines mean, `groups` the calls, `preflight` what is wrong beforehand. Nothing else is ever made: no
network, no role, no security group.
"""

from burst.providers.eks.kind import KIND

__all__ = ["KIND"]
