"""The thread that polls the broker and keeps the status snapshot current.

The broker pushes which brokers are online, and the instance's own state. Drained and busy ranks and rejected
peers are polled: every POLL_INTERVAL seconds while a client watches, else at a client's request.
"""

from __future__ import annotations

import errno
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from broker_config.formats import broker_state, hostlist
from broker_config.formats.jobid import f58plain
from minicluster import __version__
from minicluster.broker_link import burst_ranks, queues
from minicluster.broker_link.errors import Refused
from minicluster.broker_link.link_loop import LinkLoop
from minicluster.lead_server import status
from minicluster.lead_server.slot_queues import SlotQueues

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.broker_link.link import JSON, BrokerLink, LeadLink
    from minicluster.lead_server.status_snapshot import StatusSnapshot
    from minicluster.save_restore.state_files import StateFiles

POLL_INTERVAL = 1.0
"""Seconds between two samples while a client watches."""
EAGER_POLL_INTERVAL = 0.2
"""The same while a drain takes effect or a drained rank is busy: the operator waits for that."""
TIMEOUT = 10.0
"""Seconds that the broker has for one answer."""
_IDLE = 60.0


class Follower(threading.Thread):
    """Polls through a link of its own, which `connect` makes in this thread.

    `broke` is called with the error of a link that broke.
    """

    def __init__(
        self,
        snapshot: StatusSnapshot,
        connect: Callable[[], LeadLink],
        broke: Callable[[Exception], None],
        state_files: StateFiles,
        *,
        main_job: bool,
    ) -> None:
        super().__init__(name="door-follower", daemon=True)
        self._snapshot = snapshot
        self._loop = LinkLoop(connect, broke)
        self._state_files = state_files
        self._main_job = main_job
        self._online = ""
        self._running = False
        self._over = False  # the instance is about to end
        self._policy = ""
        self._policy_known = False
        self._rejected_peers: Sequence[str] = ()
        self._main = 0  # the main job's id
        self._journal = 0  # the request that looks for it
        self._history_over = False
        self._eager = False
        self._hosts: list[str] = []
        self._burst_ranks = burst_ranks.BurstRanksReader()
        self._slots = SlotQueues()

    def wake(self) -> None:
        """Have a newer sample made."""
        self._loop.wake()

    def close(self) -> None:
        """End soon."""
        self._loop.close()

    def run(self) -> None:
        """Poll until `close`. A link that breaks is made again; until then there is no status."""
        self._loop.run(self._follow, lambda _: self._snapshot.clear())

    def _follow(self, link: LeadLink) -> None:
        self._forget()
        self._slots.follow(link)
        link.stream("groups.get", {"name": "broker.online"}, self._take_online)
        link.stream("state-machine.monitor", {}, self._take_state)
        static = _static(link)
        self._hosts = hostlist.decode(_attribute(link, "hostlist"))
        while not self._loop.closed:
            began = time.monotonic()
            self._loop.wanted.clear()
            self._slots.close_lost(link)
            self._snapshot.begin()
            try:
                self._snapshot.publish({**static, **self._sample(link)})
            except Refused as error:
                if error.errnum != errno.ETIMEDOUT:
                    raise  # else the broker is busy: the last status stays
            pause = EAGER_POLL_INTERVAL if self._eager else POLL_INTERVAL
            self._wait(link, began, pause if self._snapshot.watched else self._slots.pause(_IDLE))

    def _forget(self) -> None:
        """Reset the state for a new link, behind which may be another broker."""
        self._online, self._running, self._over = "", False, False
        self._policy, self._policy_known = "", False
        self._rejected_peers = ()
        self._main, self._journal, self._history_over = 0, 0, False

    def _wait(self, link: BrokerLink, began: float, pause: float) -> None:
        """Dispatch messages until the next sample is due: it was requested, or `pause` is over."""
        ended = time.monotonic()
        rested = ended + (ended - began)  # never busy for more than half of the time
        while not self._loop.closed:
            due = rested if self._loop.wanted.is_set() else began + pause
            left = due - time.monotonic()
            if left <= 0:
                return
            link.dispatch(left)

    def _sample(self, link: LeadLink) -> JSON:
        self._seek_main(link)
        self._ask_further(link)
        resource = _asked(link, "resource.status")
        bursts = self._burst_ranks.read(resource.get("R"))
        drains = status.drains(resource)
        # From the scheduler itself, where it answers: a rank that it knows to be drained and that is not busy
        # stays idle; before it knows, an allocation may be on its way.
        resources = _asked(link, "sched.resource-status") or _asked(link, "resource.sched-status")
        known = status.known(drains, status.ranks_of(resources, "down"))
        busy = status.ranks_of(resources, "allocated")
        self._eager = known != drains or status.meet(status.union(known), busy)
        seen = {
            "online": self._online,
            "drained": status.union(known),
            "drains": known,
            "busy": busy,
            "running": self._running,
            "jobid": f58plain(self._main) if self._main else "",
            "queue_policy": self._policy,
            "troubles": status.troubles(
                self._rejected_peers, _asked(link, "overlay.health"), self._hosts, bursts.ranks
            ),
            "halted": self._halted(link, bursts.queues),
            "saving": self._state_files.saving(),
            "kept": self._state_files.kept(),
        }
        return {**seen, "online": self._online}  # it may have been pushed meanwhile

    def _halted(self, link: BrokerLink, of_bursts: frozenset[str]) -> list[str]:
        if not self._running or self._over or self._state_files.queues_are_due():
            return []  # queues start with the instance's work, and stop with it
        return status.halted(queues.statuses(partial(_asked, link)), of_bursts)

    def _ask_further(self, link: LeadLink) -> None:
        """Read the queue policy and the rejected peers; where the broker refuses, the last values stay."""
        if not self._policy_known:
            with suppress(Refused):
                self._policy = link.queue_policy()
                self._policy_known = bool(self._policy)  # real Flux loads its scheduler after the lead server
        with suppress(Refused):
            self._rejected_peers = link.rejected_peers()

    def _seek_main(self, link: BrokerLink) -> None:
        """Follow the job journal from the state RUN on until the main job is found."""
        if self._main_job and self._running and not (self._journal or self._main):
            self._journal = link.stream("job-manager.events-journal", {"full": True}, self._take_jobs)
        elif self._journal and self._main and self._history_over:
            link.cancel(self._journal)
            self._journal = 0

    # -- what the broker pushes ------------------------------------------------------------------------

    def _take_online(self, answer: JSON | None, _refusal: Refused | None) -> None:
        if answer is not None:
            # Brokers that leave when the instance ends are not lost.
            self._online = self._online if self._over else answer["members"]
            self._slots.see(self._online)
            self._loop.wanted.set()

    def _take_state(self, answer: JSON | None, _refusal: Refused | None) -> None:
        if answer is not None:
            self._running = self._running or answer["state"] >= broker_state.RUN
            self._over = answer["state"] > broker_state.RUN
            self._policy_known = False
            self._loop.wanted.set()

    def _take_jobs(self, answer: JSON | None, _refusal: Refused | None) -> None:
        if answer is None:
            return
        if answer["id"] == -1:
            self._history_over = True
        elif answer["id"] > self._main and status.is_main(answer.get("jobspec")):
            self._main = answer["id"]  # a restored instance may have several; the newest counts
        else:
            return  # other jobs, perhaps thousands, do not change the status
        self._loop.wanted.set()


def _static(link: BrokerLink) -> JSON:
    """Return the fields that do not change while the instance runs."""
    version, size = (_attribute(link, name) for name in ("version", "size"))
    return {"engine": link.engine, "version": version, "minicluster": __version__, "size": int(size)}


def _attribute(link: BrokerLink, name: str) -> str:
    return str(link.rpc("attr.get", {"name": name}, TIMEOUT)["value"])


def _asked(link: BrokerLink, topic: str, payload: JSON | None = None) -> JSON:
    """Return a service's answer; empty if it is not loaded yet or any more (rc1, rc3).

    Raises Refused with ETIMEDOUT if it does not answer in time.
    """
    try:
        return link.rpc(topic, payload or {}, TIMEOUT)
    except Refused as error:
        if error.errnum == errno.ETIMEDOUT:
            raise
        return {}
