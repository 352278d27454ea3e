"""The operator's commands that move jobs: save the instance, restart jobs of some ranks, or lost ones."""

from __future__ import annotations

import errno
import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from broker_config.formats import idset
from broker_config.formats.errors import IdsetError
from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import f58plain
from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.broker_link.link import Accepted
from minicluster.lead_server.errors import BadRequest
from minicluster.save_restore import losses, restarts
from minicluster.save_restore.errors import NotAnswering
from minicluster.save_restore.link_jobs import LinkJobs, ranks_of_job
from minicluster.save_restore.losses import Loss
from minicluster.save_restore.quiesce import described
from minicluster.save_restore.restarts import RestartOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from minicluster.broker_link.link import JSON, BrokerLink
    from minicluster.lead_server.status_snapshot import StatusSnapshot
    from minicluster.save_restore.state_files import StateFiles

MAX_TIMEOUT = 86400.0
"""Seconds that a save may take at most."""
LATEST = 1e11
"""Seconds since 1970, in the year 5138: later times are refused."""
DIGITS = 9
LOCK_TIMEOUT = 1.5
"""Seconds to wait for other commands, then for the ends of restarted jobs. The client waits for 5."""
REASON = "its broker leaves"
GONE = "its broker was lost"
STILL_PLACED = 0.5
"""Seconds for which jobs may still be placed on a lost broker: real Flux (0.88) does so for 0.1."""


class SavingOrders:
    """The commands save, restart and recover. The start script runs the first, this process the others."""

    def __init__(
        self,
        snapshot: StatusSnapshot,
        connect: Callable[[], BrokerLink],
        state_files: StateFiles,
        archive: str,
    ) -> None:
        self._snapshot = snapshot
        self._connect = connect
        self._state_files = state_files
        self._archive = archive

    def save(self, body: JSON) -> Accepted:
        """Have the start script save the instance and end. A repeated command has no further effect.

        Raises BadRequest, Refused, InstanceGone.
        """
        timeout = body.get("timeout", 0)
        if (
            isinstance(timeout, bool)
            or not isinstance(timeout, (int, float))
            or not 0 <= timeout <= MAX_TIMEOUT
        ):
            raise BadRequest(f"timeout: seconds from 0 to {MAX_TIMEOUT:g} are right")
        if not self._archive:
            raise BadRequest("archive.path is not set: there is no place to save to")
        try:
            if self._state_files.order(timeout):
                self._signal()
        except OSError as error:
            raise Refused(error.errno or errno.EIO, f"cannot pass the order on: {error.strerror}") from error
        finally:
            self._snapshot.request_sample()
        return Accepted()

    def _signal(self) -> None:
        try:
            os.kill(self._state_files.start_script(), signal.SIGUSR1)
        except ProcessLookupError:
            self._state_files.withdraw()
            raise InstanceGone("the start script, which would save, is gone") from None

    def restart(self, body: JSON) -> JSON:
        """Restart every job that runs on these ranks, unless it has a copy already."""
        ranks = set(idset.decode(ranks_of(body)))
        with self._moving() as jobs:
            earlier = self._state_files.restarted()

            def remember(moved: Mapping[int, int]) -> list[JSON]:
                """Note them, also before a job is canceled: if that fails, they are named the next time."""
                known = {each["old"] for each in earlier}
                pairs = [(f58plain(old), f58plain(new)) for old, new in moved.items()]
                where = idset.encode(ranks)
                made = [{"ranks": where, "old": old, "new": new} for old, new in pairs if old not in known]
                self._state_files.remember(earlier + made)
                return earlier + made

            outcome = _restart(jobs, ranks, REASON, remember)
            named = remember(dict(outcome.restarted))
        # Earlier ones too: the client may not have received that answer.
        there = [each for each in named if ranks & set(idset.decode(each["ranks"]))]
        return {**described(outcome), "restarted": [[each["old"], each["new"]] for each in there]}

    def recover(self, body: JSON) -> JSON:
        """Restart every job that was lost with these ranks' brokers, or still runs there."""
        lost = _lost(body)
        time.sleep(STILL_PLACED)
        with self._moving() as jobs:
            there = _restart(jobs, set(lost), GONE)
            ended = losses.restart_lost(jobs, lost)
        again, gone = {*there.restarted, *ended.restarted}, {*there.lost, *ended.lost}
        return dict(described(RestartOutcome(sorted(again), sorted(gone))))

    @contextmanager
    def _moving(self) -> Iterator[LinkJobs]:
        """Yield the jobs, with a lock under which no other command or program moves any."""
        link = self._connect()
        try:
            with self._state_files.alone(LOCK_TIMEOUT):
                yield LinkJobs(link, LOCK_TIMEOUT)
        except NotAnswering as error:
            raise Refused(errno.EBUSY, str(error)) from error
        finally:
            link.close()
            self._snapshot.request_sample()

    def stay(self, ranks: str) -> None:
        """Forget the jobs that were restarted because of these ranks, as they get jobs again."""
        staying = set(idset.decode(ranks))
        known = self._state_files.restarted()
        left = [each for each in known if not staying & set(idset.decode(each["ranks"]))]
        if left != known:
            self._state_files.remember(left)


def _restart(
    jobs: LinkJobs,
    ranks: set[int],
    reason: str,
    copied: Callable[[Mapping[int, int]], object] = lambda _moved: None,
) -> RestartOutcome:
    there = [int(job["id"]) for job in jobs.listed(JobState.RUNNING) if ranks & ranks_of_job(job)]
    return restarts.restart(jobs, there, reason, copied)


def ranks_of(body: JSON) -> str:
    """Return the ranks that a command names, as an idset. Raises BadRequest."""
    text = body.get("ranks")
    if not isinstance(text, str):
        raise BadRequest('ranks: an idset such as "2-3" is right')
    try:
        ids = idset.decode(text)
    except IdsetError as error:
        raise BadRequest(f"ranks: {error}") from error
    if not ids:
        raise BadRequest("ranks: the idset is empty")
    return idset.encode(ids)


def _lost(body: JSON) -> dict[int, Loss]:
    """Return how brokers were lost, by rank. Raises BadRequest."""
    found = body.get("lost")
    right = (
        "lost: by rank, when its pod had started and when that was taken away, such as"
        ' {"3": [1773500966, 1773501966]} (seconds since 1970), is right'
    )
    if not isinstance(found, dict) or not found:
        raise BadRequest(right)
    for rank, times in found.items():
        is_rank = rank.isascii() and rank.isdigit() and len(rank) <= DIGITS
        if not is_rank or not isinstance(times, list) or len(times) != len(Loss._fields):
            raise BadRequest(right)
        if not all(map(_is_time, times)):
            raise BadRequest(right)
    return {int(rank): Loss(*map(float, times)) for rank, times in found.items()}


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LATEST
