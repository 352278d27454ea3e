"""What tests of jobs that share cores have in common: the policy, and what enforces quotas."""

from __future__ import annotations

from minicluster.embedded.ports import QuotaEnforcement

CONFIG = {"minicluster": {"queue-policy": "paired"}}
GROUPS = QuotaEnforcement("cgroup-v2", False, "")
WHOLE = QuotaEnforcement("affinity", True, "")
