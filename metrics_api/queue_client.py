"""What an instance's queue demands, seen by whoever may speak to the instance, without its lead's API.

The same numbers, by the same code, as the lead serves. The command line finds this by the entry point group
`minicluster.onlookers`, as it imports nothing from here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from metrics_api.lead.groups import group_of
from metrics_api.lead.ledger import Ledger
from metrics_api.lead.sampler import GATHER, JournalReader
from minicluster.broker_link.errors import WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from metrics_api.numbers.records import Sample
    from minicluster.instance.links.shared import SharedLinks

TIMEOUT = 60.0
"""Seconds that reading the queue's history may take; 100,000 jobs take some 5 s."""
CATCH_UP = 1.0
"""Seconds that taking in the news may take where they do not end."""


class QueueClient:
    """Follows an instance's jobs from its making until it is closed; belongs to one thread.

    Raises InstanceGone, and Refused where the instance does not answer as one does.
    """

    def __init__(self, links: SharedLinks, minimum: int = 1) -> None:
        self._link = links.take()
        self._minimum = minimum
        try:
            self._following = JournalReader(self._link, Ledger(group_of))
            self._catch_up()
        except BaseException:
            self._link.close()
            raise

    def _catch_up(self) -> None:
        until = time.monotonic() + TIMEOUT
        self._following.catch_up(lambda: time.monotonic() > until)
        if not self._following.ledger.ready:
            raise WaitTimeout(f"its jobs were not all read within {TIMEOUT:g} s")

    def samples(self) -> Sequence[Sample]:
        """Return what holds now, all news taken in."""
        until = time.monotonic() + CATCH_UP
        wait, known = 0.0, -1
        while known != self._following.ledger.changes and time.monotonic() < until:
            known = self._following.ledger.changes
            self._following.dispatch(wait)
            wait = GATHER
        return self._following.sample(self._minimum, time.monotonic).samples

    def close(self) -> None:
        """Ask for no more; other links stay."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
