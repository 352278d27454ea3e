"""The rules in CEL about `spec.bursting`. Each has the message of the same rule in `rules`."""

from __future__ import annotations

from minicluster.document import messages
from minicluster.document.bursting import FENCE_MARGIN
from minicluster.document.cel_rule import CelRule

_KNOWN = "has(self.flux) && has(self.flux.bursting)"
_LEAD = "self.flux.bursting.leadBroker"
_CLUSTERS = "self.flux.bursting.clusters"


def bursting_rules(is_started: str, reason: str) -> tuple[CelRule, ...]:
    """Return the rules, with CEL for: brokers were made; and why they read nothing anew then.

    Whether jobs are routed is in their configuration. All else a burst service reads, and may change.
    """
    fixed = f"once brokers were made ({reason}); make a new MiniCluster"
    return (
        CelRule(
            "",
            f"!({is_started}) || has(self.spec.bursting) == has(oldSelf.spec.bursting)",
            f"spec.bursting cannot come or go {fixed}",
        ),
        CelRule(
            "spec",
            f"!has(self.bursting) || !self.bursting.join || {_KNOWN}"
            f" && (has({_CLUSTERS}) && size({_CLUSTERS}) > 0"
            " || has(self.flux.bursting.hostlist) && self.flux.bursting.hostlist != '')",
            messages.BURSTING_HOSTS,
        ),
        CelRule(
            "spec",
            f"!has(self.bursting) || !({_KNOWN} && has({_LEAD}) && has({_LEAD}.address)"
            f" && {_LEAD}.address != '')",
            messages.BURSTING_AND_LEAD,
        ),
        CelRule(
            "spec.bursting",
            f"self.lostAfterSeconds >= self.fenceSeconds + {FENCE_MARGIN}",
            messages.LOST_BEFORE_FENCE,
        ),
    )
