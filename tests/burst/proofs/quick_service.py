"""`minicluster burst` with short spans: `python -m tests.burst.proofs.quick_service serve --state FOLDER`.

A lease of one second, so that a service that is killed is followed at once, and two that run at once take it
from each other amid a burst's steps. QUICK_JOINING has another time for what joins.
"""

from __future__ import annotations

import functools
import os
import sys

from burst import loop
from burst.ledger import ledger
from burst.settings import policy
from minicluster.cli.main import run

LEASE, TICK, PLANS, JOINING = 1.0, 0.2, 0.5, 60.0
"""Seconds."""


def main() -> None:
    """Run the command with what is set here."""
    ledger.LEASE_SECONDS = LEASE
    loop.TICK, loop.PLAN_INTERVAL = TICK, PLANS
    joining = float(os.environ.get("QUICK_JOINING", JOINING))
    policy.Timeouts = functools.partial(policy.Timeouts, joining=joining, retry=0.5)  # type: ignore[misc,assignment]
    sys.argv = ["minicluster", "burst", *sys.argv[1:]]
    run()


if __name__ == "__main__":
    main()
