"""The link to real Flux's lead: a handle of its own, and a reactor that runs only while somebody waits.

Runs under Flux's own Python.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
import socket
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import flux
import flux.constants
import flux.kvs

from minicluster.flux_modules.door.errors import BrokerGone, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minicluster.flux_modules.door.link import JSON, Taker

MEMORY = 60.0
"""Seconds for which a broker that was turned away is told of; it tries again within 15 s."""
MOST = 64
BATCH = 1000
"""Answers that are handed out before whoever dispatches is heard again."""
_REJECTED = re.compile(r"rejecting connection from (\S+) \(rank \d+\): (.*)", re.DOTALL)
_FIRST_COME = {"sched-simple": "fcfs", "sched-fifo": "fcfs"}


class FluxLink:
    """One handle; see `Link`."""

    engine = "flux"

    def __init__(self, uri: str) -> None:
        try:
            self._handle = flux.Flux(uri)
        except OSError as error:
            raise BrokerGone(error.strerror or str(error)) from error
        self._streams: dict[int, Any] = {}
        self._number = 0
        self._taken = False
        self._log: Any = None
        self._turned_away: OrderedDict[str, tuple[float, str]] = OrderedDict()  # the newest last
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._watchers: list[Any] = []

    def call(self, topic: str, payload: JSON, taker: Taker) -> int:
        """Ask for a stream of answers."""
        self._number += 1
        try:
            rpc = self._handle.rpc(topic, payload, flags=flux.constants.FLUX_RPC_STREAMING)
        except OSError as error:
            raise _ours(error) from error
        self._streams[self._number] = (topic, rpc)
        rpc.then(self._take, self._number, taker)
        return self._number

    def _take(self, rpc: Any, number: int, taker: Taker) -> None:
        """Hand an answer on; an exception here would end the reactor with an error."""
        refusal = answer = None
        try:
            text = rpc.get_str()
            rpc.reset()
            answer = json.loads(text or "{}")
        except OSError as error:
            refusal = Refused(error.errno or errno.EIO, error.strerror or "")
        self._taken = True
        if number in self._streams:
            if refusal is not None:
                del self._streams[number]
            taker(answer, refusal)
        self._handle.reactor_stop()

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        topic, rpc = self._streams.pop(number, (None, None))
        if rpc is None:
            return  # it has ended by itself
        tag = {"matchtag": rpc.pimpl.get_matchtag()}
        self._handle.rpc(topic + "-cancel", tag, flags=flux.constants.FLUX_RPC_NORESPONSE)

    def rpc(self, topic: str, payload: JSON, timeout: float) -> JSON:
        """Return the one answer."""
        try:
            rpc = self._handle.rpc(topic, payload)
            rpc.wait_for(timeout)
            answer: JSON = rpc.get() or {}
        except OSError as error:
            raise _ours(error) from error
        return answer

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Sign a jobspec and submit it as it is."""
        import flux.job  # noqa: PLC0415 - 3 MB, and hardly any lead's door submits

        future = None
        try:
            future = flux.job.submit_async(self._handle, json.dumps(jobspec), urgency=urgency)
            return int(future.get_id())
        except OSError as error:
            words = future.error_string() if future is not None else ""
            raise _ours(OSError(error.errno, words or error.strerror)) from error

    def sync(self) -> None:
        """Have the KVS make a checkpoint, which it does with a commit of any kind."""
        try:
            flux.kvs.put(self._handle, "minicluster.saved", int(time.time()))
            flux.kvs.commit(self._handle, flux.constants.FLUX_KVS_SYNC)
        except OSError as error:
            raise _ours(error) from error

    def _watch(self) -> None:
        """Make what the reactor looks at: not before it runs, because watchers keep a handle for long."""
        awake = self._handle.fd_watcher_create(self._awake.fileno(), self._woken, flux.constants.FLUX_POLLIN)
        # Without a message handler the reactor would not notice that the broker hung up.
        listener = self._handle.msg_watcher_create(
            lambda *_: None, flux.constants.FLUX_MSGTYPE_EVENT, "minicluster.none"
        )
        self._watchers = [awake, listener]
        for watcher in self._watchers:
            watcher.start()

    def dispatch(self, timeout: float) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds."""
        if not self._watchers:
            self._watch()
        timer = self._handle.timer_watcher_create(timeout, self._time_is_up)
        timer.start()
        try:
            self._run(0)
            for _ in range(BATCH):  # the reactor stops at each answer
                if not self._taken:
                    break
                self._run(flux.constants.FLUX_REACTOR_NOWAIT)
        except OSError as error:
            raise _ours(error) from error
        finally:
            timer.stop()
            timer.destroy()  # else the handle keeps it

    def _run(self, flags: int) -> None:
        self._taken = False
        if self._handle.reactor_run(flags=flags) < 0:
            raise BrokerGone("the broker ended the connection")

    def _time_is_up(self, *_: Any) -> None:
        self._handle.reactor_stop()

    def _woken(self, *_: Any) -> None:
        self._awake.recv(4096)
        self._handle.reactor_stop()

    def wake(self) -> None:
        """Have `dispatch` return."""
        with contextlib.suppress(OSError):  # full: it is awake; closed: it is over
            self._waker.send(b"x")

    def queue_policy(self) -> str:
        """Return which policy the loaded scheduler goes by; nothing while none is loaded."""
        modules = self.rpc("module.list", {}, 10.0)["mods"]
        if any(each["name"] == "sched-fluxion-qmanager" for each in modules):
            table = self.rpc("config.get", {}, 10.0).get("sched-fluxion-qmanager", {})
            return f"fluxion/{table.get('queue-policy', 'fcfs')}"
        loaded = next((str(each["name"]) for each in modules if "sched" in each["services"]), "")
        if loaded == "minicluster-sched":
            return f"minicluster/{self.rpc('minicluster-sched.stats-get', {}, 10.0)['policy']}"
        return _FIRST_COME.get(loaded, loaded)

    def turned_away(self) -> Sequence[str]:
        """Return whom the lead turned away lately, as its log has it, which is followed from now on.

        A broker with another certificate is not among them: Flux's lead does not notice that it knocks.
        """
        if self._log is None:
            request = {"follow": True, "nobacklog": True}
            try:
                self._log = self._handle.rpc("log.dmesg", request, flags=flux.constants.FLUX_RPC_STREAMING)
            except OSError as error:
                raise _ours(error) from error
            self._log.then(self._take_line)
        now = time.monotonic()
        return [
            f"{peer}: turned away: {reason}"
            for peer, (when, reason) in reversed(list(self._turned_away.items()))
            if now - when <= MEMORY
        ]

    def _take_line(self, rpc: Any) -> None:
        try:
            line = rpc.get_str() or ""
        except OSError:
            return  # the log ended, and the instance with it
        rpc.reset()
        found = _REJECTED.search(line)
        if found:
            self._note(found.group(1), found.group(2).strip())

    def _note(self, peer: str, reason: str) -> None:
        self._turned_away.pop(peer, None)
        self._turned_away[peer] = (time.monotonic(), reason)
        if len(self._turned_away) > MOST:
            self._turned_away.popitem(last=False)

    def close(self) -> None:
        """Hang up."""
        for watcher in self._watchers:
            watcher.stop()
            watcher.destroy()
        self._watchers.clear()
        self._streams.clear()
        self._log = self._handle = None
        self._awake.close()
        self._waker.close()


def _ours(error: OSError) -> Refused | BrokerGone:
    code = error.errno or errno.EIO
    if code in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN, errno.EHOSTUNREACH):
        return BrokerGone(error.strerror or str(error))
    return Refused(code, error.strerror or "")
