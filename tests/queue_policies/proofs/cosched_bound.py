"""10,000 sequences of losses, random, in phases or against the learner: its regret stays below its bound in
each.

`python -m tests.queue_policies.proofs.cosched_bound [SEQUENCES]` prints figures as one line of JSON, and
ends with 1 where the bound is passed.
"""

from __future__ import annotations

import json
import sys
from random import Random

from tests.queue_policies.cosched import regret


def main() -> None:
    """Prove it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    stream, passed, rounds, nearest = Random(85), 0, 0, 0.0
    for _ in range(count):
        experts, cases, losses = regret.drawn(stream)
        found = regret.of_rounds(experts, cases, losses)
        rounds += len(found)
        passed += any(each.regret > each.bound + 1e-9 for each in found)
        nearest = max([nearest, *(each.regret / each.bound for each in found if each.bound)])
    figures = {"sequences": count, "rounds": rounds, "passed the bound": passed, "nearest": round(nearest, 3)}
    print(json.dumps({"proof": "cosched bound", **figures}))
    sys.exit(1 if passed else 0)


if __name__ == "__main__":
    main()
