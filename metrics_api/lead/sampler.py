"""The thread that makes samples, which all readers share.

It begins with the first reader: an instance whose metrics nobody reads does nothing for them. From then on it
follows the job journal, and makes a sample every PERIOD seconds as long as somebody reads now and then. A
sample that is older than LIMIT is given to nobody: better no number than a wrong one.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from metrics_api import names
from metrics_api.lead.groups import group_of
from metrics_api.lead.ledger import EVENTS, Ledger
from metrics_api.lead.look import Looker
from metrics_api.lead.sampled import Sampled
from metrics_api.numbers.records import Snapshot
from metrics_api.numbers.samples import samples
from minicluster.flux_modules.door.errors import BrokerGone, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metrics_api.lead.look import Seen
    from minicluster.flux_modules.door.link import JSON, Link

PERIOD = 1.0
"""Seconds between two samples."""
LIMIT = 5.0
"""Seconds after which a sample is too old."""
INTEREST = 60.0
"""Seconds for which samples are made after somebody has read one: the autoscaler asks every 15 s."""
PATIENCE = 2.0
"""Seconds that a reader waits for a sample."""
SPACING = 0.2
"""Seconds between two samples while somebody watches for changes, at least."""
KEEPALIVE = 15.0
"""Seconds after which a watch repeats a sample that did not change."""
REST = 4
"""Times as long as a sample took it rests at least: it never takes more than a fifth of a core."""
DRIFT = 5
"""Samples in a row that disagree with the instance's own counts in the same way: then the ledger is wrong."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
_FIRST_BACKLOG = 120.0
_RUN = 5  # Flux's number of the state in which the initial program runs
_IDLE = 60.0


class InstanceEndsError(Exception):
    """The instance is about to end: what it says of jobs does not count any more."""


class Sampler(threading.Thread):
    """Looks through a link of its own, made by `connect`; `broke` is told why it broke."""

    def __init__(
        self,
        connect: Callable[[], Link],
        broke: Callable[[Exception], None],
        minimum: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="door-sampler", daemon=True)
        self._connect = connect
        self._broke = broke
        self._minimum = minimum
        self._clock = clock
        self._condition = threading.Condition()
        self._ending = threading.Event()
        self._wanted = threading.Event()
        self._link: Link | None = None
        self._newest: Sampled | None = None
        self._asked = float("-inf")  # when somebody last did
        self._watchers = 0
        self._why = "no sample has been made yet"

    # -- for readers -----------------------------------------------------------------------------------

    def read(self) -> Sampled:
        """Return the newest sample. Raises BrokerGone where it is too old, or there is none."""
        self._asked = self._clock()
        newest = self._newest
        if newest is None or newest.age(self._clock()) > 2 * PERIOD:
            self._wake()
            with self._condition:
                self._condition.wait_for(
                    lambda: self._ending.is_set() or self._newest is not newest, PATIENCE
                )
        return self._fresh()

    def _fresh(self) -> Sampled:
        newest, now = self._newest, self._clock()
        if newest is None:
            raise BrokerGone(self._why)
        age = newest.age(now)
        if age > LIMIT:
            raise BrokerGone(f"the newest sample is {age:.1f} s old, more than {LIMIT:g} s: {self._why}")
        return newest

    def watch(self) -> Iterator[Sampled]:
        """Return the newest sample, and the next on each change; ends where they would be too old.

        Raises BrokerGone where there is none to begin with.
        """
        return self._changes(self.read())

    def _changes(self, sampled: Sampled) -> Iterator[Sampled]:
        with self._condition:
            self._watchers += 1
        self._wake()
        try:
            while True:
                yield sampled
                known, until = sampled, self._clock() + KEEPALIVE
                while sampled.steady == known.steady and self._clock() < until:
                    with self._condition:
                        seen = sampled
                        self._condition.wait_for(lambda: self._over or self._newest is not seen, LIMIT)  # noqa: B023
                    if self._over:
                        return
                    try:
                        sampled = self._fresh()
                    except BrokerGone:
                        return
        finally:
            with self._condition:
                self._watchers -= 1

    @property
    def _over(self) -> bool:
        return self._ending.is_set()

    def _wake(self) -> None:
        self._wanted.set()
        link = self._link
        if link is not None:
            link.wake()

    def close(self) -> None:
        """End soon, and every watch."""
        self._ending.set()
        self._wake()
        with self._condition:
            self._condition.notify_all()

    # -- the thread ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Follow from the first reader until `close`; a link that breaks is made anew."""
        self._wanted.wait()
        pause = FIRST_PAUSE
        while not self._over:
            began = time.monotonic()
            try:
                link = self._link = self._connect()
                try:
                    self._follow(link)
                finally:
                    self._link = None
                    link.close()
            except InstanceEndsError:
                self._why = "the instance ends"
                self._ending.wait()
            except Exception as error:  # noqa: BLE001 - whatever the broker answers, the door stays
                self._why = str(error) or type(error).__name__
                pause = FIRST_PAUSE if time.monotonic() - began > LONGEST_PAUSE else pause
                if not self._over:
                    self._broke(error)
                    self._ending.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _follow(self, link: Link) -> None:
        """Make samples from a journal's beginning, until it breaks or turns out to be wrong."""
        follower = Following(link, Ledger(group_of))
        follower.catch_up(lambda: self._over)
        while not self._over:
            began = time.monotonic()
            self._wanted.clear()
            self._publish(follower.sample(self._minimum, self._clock))
            cost = time.monotonic() - began
            self._rest(follower, began, max(PERIOD, REST * cost), max(SPACING, REST * cost))

    def _publish(self, sampled: Sampled) -> None:
        with self._condition:
            self._newest = sampled
            self._why = "the instance does not answer"
            self._condition.notify_all()

    def _rest(self, following: Following, began: float, pause: float, spacing: float) -> None:
        """Take in events until the next sample is due: the time came, or it is wanted earlier."""
        known = following.ledger.changes
        while not self._over:
            now = time.monotonic()
            read_lately = self._watchers or self._clock() - self._asked < INTEREST
            early = self._wanted.is_set() or (self._watchers and following.ledger.changes != known)
            due = began + (spacing if early else pause if read_lately else _IDLE)
            if now >= due:
                return
            following.dispatch(due - now)


class Following:
    """The journal on one link, and the ledger that it keeps."""

    def __init__(self, link: Link, ledger: Ledger) -> None:
        self.ledger = ledger
        self._link = link
        self._looker = Looker(link)
        self._ended: Refused | None = None
        self._drift = self._normal = (0, 0)
        self._drifting = 0
        self._agreed = False
        self._ends = False
        link.call("state-machine.monitor", {}, self._take_state)
        request = {"full": False, "allow": dict.fromkeys(EVENTS, 1)}
        link.call("job-manager.events-journal", request, self._take)

    def _take(self, message: JSON | None, refusal: Refused | None) -> None:
        if message is not None:
            self.ledger.take(message)
        else:
            self._ended = refusal or Refused(0, "it ended")

    def _take_state(self, message: JSON | None, _refusal: Refused | None) -> None:
        self._ends = self._ends or (message is not None and message["state"] > _RUN)

    def catch_up(self, over: Callable[[], bool]) -> None:
        """Take in the history. Raises Refused where it does not come to its end."""
        until = time.monotonic() + _FIRST_BACKLOG
        while not (self.ledger.ready or over()):
            if time.monotonic() > until:
                raise Refused(0, "the job journal's history does not end")
            self.dispatch(1.0)

    def dispatch(self, timeout: float) -> None:
        """Take in what comes. Raises Refused where the journal ended, InstanceEndsError."""
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
        """Make a sample. Raises Refused, also where the ledger turns out to be wrong."""
        now, moment = time.time(), clock()  # before: what is asked first is the oldest of it
        seen = self._looker.look()
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

    def _compare(self, seen: Seen) -> None:
        """Hold the ledger against the instance's own counts, which may be a moment behind or ahead.

        A difference that has been there since the history was read is none that reading it again would end.
        """
        states = seen.counts.states
        pending = sum(states.get(state, 0) for state in names.PENDING_STATES)
        active = pending + sum(states.get(state, 0) for state in names.RUNNING_STATES)
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
