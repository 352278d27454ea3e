"""Reads an instance's queue metrics over a link to the instance, without its lead API.

The numbers and the code are the same as at the lead. The command line imports nothing from here: it finds
this by the entry point group `minicluster.onlookers`.
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
"""Seconds after which reading new events stops, even if there are more."""


class QueueClient:
    """Follows an instance's jobs until it is closed. Only one thread may use it.

    Raises InstanceGone, and Refused if the instance does not answer as expected.
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
        """Read new events, and return the present samples."""
        until = time.monotonic() + CATCH_UP
        wait, known = 0.0, -1
        while known != self._following.ledger.changes and time.monotonic() < until:
            known = self._following.ledger.changes
            self._following.dispatch(wait)
            wait = GATHER
        return self._following.sample(self._minimum, time.monotonic).samples

    def close(self) -> None:
        """Close its link; other links stay open."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
