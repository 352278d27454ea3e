"""How many examples a property is tried with: some in every run, ten times as many by `make properties`."""

import os

FACTOR = int(os.environ.get("EXAMPLES_FACTOR", "1"))
"""By how much the number of examples of every property is multiplied."""
DEFAULT = 100
"""Examples of a property that asks for no other number."""
MEASURED = 10
"""Examples of a property by which coverage is measured, where it is."""


def examples(count: int) -> int:
    """Return how many examples a property gets that asks for so many in every run."""
    return count * FACTOR
