"""The thread that makes samples, which all readers share.

It begins with the first reader: without readers it costs the instance nothing. From then on it follows the
job journal. It makes a sample every PERIOD seconds, as long as one was read in the last INTEREST seconds. A
sample that is older than LIMIT is not returned: no number is better than a wrong one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from broker_config.formats import broker_state, job_states
from metrics_api.lead.groups import group_of
from metrics_api.lead.ledger import EVENTS, Ledger
from metrics_api.lead.poll import QueuePoller
from metrics_api.lead.sampled import Sampled
from metrics_api.numbers.records import Snapshot
from metrics_api.numbers.samples import samples
from minicluster.broker_link.errors import InstanceGone, Refused, reason
from minicluster.broker_link.link_loop import LinkLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metrics_api.lead.poll import QueuePoll
    from minicluster.broker_link.link import JSON, BrokerLink, LeadLink

PERIOD = 1.0
"""Seconds between two samples."""
CHANGED = 0.5
"""Seconds between two samples while jobs change, so that an autoscaler's next query shows that."""
LIMIT = 5.0
"""Seconds after which a sample is too old."""
INTEREST = 60.0
"""Seconds for which samples are made after one was read: the autoscaler asks every 15 s."""
READ_TIMEOUT = 2.0
"""Seconds that a reader waits for a sample."""
SPACING = 0.2
"""Least seconds between two samples of a watch."""
KEEPALIVE = 15.0
"""Seconds after which a watch repeats a sample that did not change."""
GATHER = 0.1
"""Seconds for which events are gathered before they are read: waking for each would slow a busy instance."""
REST = 4
"""It rests at least so many times as long as a sample took, so that it takes at most a fifth of a core."""
DRIFT = 5
"""Samples in a row that disagree with the instance's own counts in the same way: then the ledger is wrong."""
_FIRST_BACKLOG = 120.0
_IDLE = 60.0


class InstanceEndsError(InstanceGone):
    """The instance is about to end: its counts of jobs are not valid any more."""

    def __init__(self) -> None:
        super().__init__("the instance ends")


class Sampler(threading.Thread):
    """Makes samples over a link of its own, which `connect` makes. `broke` gets the error of a broken one."""

    def __init__(
        self,
        connect: Callable[[], LeadLink],
        broke: Callable[[Exception], None],
        minimum: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="door-sampler", daemon=True)
        self._loop = LinkLoop(connect, broke)
        self._minimum = minimum
        self._clock = clock
        self._condition = threading.Condition()
        self._newest: Sampled | None = None
        self._asked = float("-inf")  # when a sample was last read
        self._watchers = 0
        self._why = "no sample has been made yet"

    # -- for readers -----------------------------------------------------------------------------------

    def read(self) -> Sampled:
        """Return the newest sample. Raises InstanceGone if it is too old, or there is none."""
        self._asked = self._clock()
        newest = self._newest
        if newest is None or newest.age(self._clock()) > 2 * PERIOD:
            self._loop.wake()
            with self._condition:
                self._condition.wait_for(
                    lambda: self._loop.closed or self._newest is not newest, READ_TIMEOUT
                )
        return self._fresh()

    def _fresh(self) -> Sampled:
        newest, now = self._newest, self._clock()
        if newest is None:
            raise InstanceGone(self._why)
        age = newest.age(now)
        if age > LIMIT:
            raise InstanceGone(f"the newest sample is {age:.1f} s old, more than {LIMIT:g} s: {self._why}")
        return newest

    def watch(self) -> Iterator[Sampled]:
        """Return an iterator over samples: the newest, and one on each change; it ends if they are too old.

        Raises InstanceGone if there is none at first.
        """
        return self._changes(self.read())

    def _changes(self, sampled: Sampled) -> Iterator[Sampled]:
        with self._condition:
            self._watchers += 1
        self._loop.wake()
        try:
            while True:
                yield sampled
                known, until = sampled, self._clock() + KEEPALIVE
                while sampled.steady == known.steady and self._clock() < until:
                    with self._condition:
                        seen = sampled
                        self._condition.wait_for(lambda: self._loop.closed or self._newest is not seen, LIMIT)  # noqa: B023
                    if self._loop.closed:
                        return
                    try:
                        sampled = self._fresh()
                    except InstanceGone:
                        return
        finally:
            with self._condition:
                self._watchers -= 1

    def close(self) -> None:
        """End every watch, and the thread soon."""
        self._loop.close()
        with self._condition:
            self._condition.notify_all()

    # -- the thread ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Make samples from the first reader until `close`. A link that breaks is made again."""
        self._loop.wanted.wait()
        self._loop.run(self._follow, self._lost)

    def _lost(self, error: Exception) -> None:
        if isinstance(error, InstanceEndsError):
            self._why = str(error)
            self._loop.until_closed()
        else:
            self._why = reason(error) or type(error).__name__

    def _follow(self, link: BrokerLink) -> None:
        """Make samples from a journal's beginning, until it breaks or the ledger proves wrong."""
        follower = JournalReader(link, Ledger(group_of))
        follower.catch_up(lambda: self._loop.closed)
        while not self._loop.closed:
            began = time.monotonic()
            self._loop.wanted.clear()
            self._publish(follower.sample(self._minimum, self._clock))
            cost = time.monotonic() - began
            self._rest(follower, began, cost)

    def _publish(self, sampled: Sampled) -> None:
        with self._condition:
            self._newest = sampled
            self._why = "the instance does not answer"
            self._condition.notify_all()

    def _rest(self, following: JournalReader, began: float, cost: float) -> None:
        """Read events until the next sample is due, by time or by a request."""
        known = following.ledger.changes
        while not self._loop.closed:
            now = time.monotonic()
            pause = self._pause(changed=following.ledger.changes != known)
            due = began + max(pause, REST * cost)
            if now >= due:
                return
            following.dispatch(due - now)
            self._loop.wanted.wait(min(GATHER, max(0.0, due - time.monotonic())))

    def _pause(self, *, changed: bool) -> float:
        """Return the seconds from one sample to the next."""
        if self._loop.wanted.is_set() or (self._watchers and changed):
            return SPACING
        if not self._watchers and self._clock() - self._asked >= INTEREST:
            return _IDLE
        return CHANGED if changed else PERIOD


class JournalReader:
    """Reads the journal on one link into a ledger."""

    def __init__(self, link: BrokerLink, ledger: Ledger) -> None:
        self.ledger = ledger
        self._link = link
        self._poller = QueuePoller(link)
        self._ended: Refused | None = None
        self._drift = self._normal = (0, 0)
        self._drifting = 0
        self._agreed = False
        self._ends = False
        link.stream("state-machine.monitor", {}, self._take_state)
        request = {"full": False, "allow": dict.fromkeys(EVENTS, 1), "gather": GATHER}
        link.stream("job-manager.events-journal", request, self._take)

    def _take(self, message: JSON | None, refusal: Refused | None) -> None:
        if message is not None:
            self.ledger.take(message)
        else:
            self._ended = refusal or Refused(0, "it ended")

    def _take_state(self, message: JSON | None, _refusal: Refused | None) -> None:
        self._ends = self._ends or (message is not None and message["state"] > broker_state.RUN)

    def catch_up(self, over: Callable[[], bool]) -> None:
        """Read the history. Raises Refused if it does not end."""
        until = time.monotonic() + _FIRST_BACKLOG
        while not (self.ledger.ready or over()):
            if time.monotonic() > until:
                raise Refused(0, "the job journal's history does not end")
            self.dispatch(1.0)

    def dispatch(self, timeout: float) -> None:
        """Read new events. Raises Refused if the journal ended, InstanceEndsError."""
        self._link.dispatch(timeout)
        self._check()

    def _check(self) -> None:
        if self._ends:
            raise InstanceEndsError
        if self._ended is not None:
            raise Refused(self._ended.errnum, f"the job journal ended: {self._ended.text}")
        if self.ledger.doubts:
            raise Refused(0, "the job journal told of a job that it had not told of before")

    def sample(self, minimum: int, clock: Callable[[], float]) -> Sampled:
        """Make a sample. Raises Refused, also if the ledger proves wrong."""
        now, moment = time.time(), clock()  # before the poll, as its first answer is its oldest
        seen = self._poller.poll()
        self._check()
        self._compare(seen)
        snapshot = Snapshot(
            seen.nodes,
            min(max(minimum, 1), max(len(seen.nodes), 1)),
            len(seen.nodes),
            self.ledger.pending(seen.stopped),
            self.ledger.running(),
            seen.counts,
        )
        return Sampled(now, moment, samples(snapshot, now))

    def _compare(self, seen: QueuePoll) -> None:
        """Compare the ledger with the instance's own counts, which may be a moment behind or ahead.

        A difference that was there after reading the history is ignored: reading it again would not help.
        """
        states = seen.counts.states
        pending = sum(states.get(state, 0) for state in job_states.PENDING_STATES)
        active = pending + sum(states.get(state, 0) for state in job_states.RUNNING_STATES)
        ours = self.ledger.pending_jobs
        drift = (pending - ours, active - ours - self.ledger.running_jobs)
        self._drifting = self._drifting + 1 if drift == self._drift != self._normal else 0
        self._drift = drift
        self._agreed = self._agreed or drift == self._normal
        if self._drifting < DRIFT:
            return
        if self._agreed:
            raise Refused(0, f"the job journal and the counts of jobs differ by {drift[0]} pending jobs")
        self._normal, self._agreed = drift, True
