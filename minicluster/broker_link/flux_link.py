"""The link to real Flux's lead: a handle of its own, and a reactor that runs only within `dispatch`.

Runs under Flux's own Python.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import flux
import flux.constants

from minicluster.broker_link import flux_users, loaded_policy
from minicluster.broker_link.errors import (
    InstanceError,
    InstanceGone,
    RequestRefused,
    WaitTimeout,
    refusal_of,
)
from minicluster.broker_link.flux_users import sent_by
from minicluster.broker_link.rejected_peers import RejectedPeers, lines
from minicluster.broker_link.users import uid_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.broker_link.link import JSON, Callback

BATCH = 1000
"""Answers that one `dispatch` hands out at most, before its caller runs again."""
_REJECTED = re.compile(r"rejecting connection from (\S+) \(rank \d+\): (.*)", re.DOTALL)
_FOR_EVER = -1.0
_SUBMIT = "job-ingest.submit"


class _Stream(NamedTuple):
    """One that is open, and who asked for it."""

    topic: str
    rpc: Any
    user: int | None


class FluxLink:
    """One handle; see `LeadLink`."""

    engine = "flux"

    def __init__(self, uri: str) -> None:
        self._uri = uri
        try:
            self._handle = flux.Flux(uri) if uri else flux.Flux()
        except OSError as error:
            raise InstanceGone(error.strerror or str(error)) from error
        self._streams: dict[int, _Stream] = {}
        self._number = 0
        self._reactor = _Reactor(self._handle)
        self._log: _FollowedLog | None = None

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for a stream of answers."""
        self._number += 1
        try:
            with sent_by(self._handle, user):
                rpc = self._handle.rpc(topic, payload, flags=flux.constants.FLUX_RPC_STREAMING)
        except OSError as error:
            raise _ours(topic, error) from error
        self._streams[self._number] = _Stream(topic, rpc, user)
        rpc.then(_take_item, self._streams, self._number, callback, self._reactor)
        return self._number

    call = stream  # its name in release 0.1.0, by which others' routes at the lead know it

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        found = self._streams.pop(number, None)
        if found is None:
            return  # it has ended by itself
        tag = {"matchtag": found.rpc.pimpl.get_matchtag()}
        with sent_by(self._handle, found.user):
            self._handle.rpc(found.topic + "-cancel", tag, flags=flux.constants.FLUX_RPC_NORESPONSE)

    def request(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for one answer."""
        self._number += 1
        try:
            with sent_by(self._handle, user):
                rpc = self._handle.rpc(topic, payload)
        except OSError as error:
            raise _ours(topic, error) from error
        rpc.then(_take_one, topic, callback, self._reactor)
        return self._number

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> int:
        """Sign a jobspec and submit it as it is."""
        self._number += 1
        _submit(self._handle, jobspec, urgency, flags).then(_take_one, _SUBMIT, callback, self._reactor)
        return self._number

    def rpc(
        self,
        topic: str,
        payload: JSON,
        timeout: float | None = None,
        user: int | None = None,
        rank: int | None = None,
    ) -> JSON:
        """Return the one answer: of a rank's broker, else of the nearest one towards the lead."""
        try:
            with sent_by(self._handle, user):
                rpc = self._handle.rpc(topic, payload, **({} if rank is None else {"nodeid": rank}))
            rpc.wait_for(_FOR_EVER if timeout is None else timeout)
            answer: JSON = rpc.get() or {}
        except OSError as error:
            raise _ours(topic, error, timeout) from error
        return answer

    def user_refusal(self, uid: int) -> str:
        """Return why no request of this connection can be of that user."""
        return uid_problem(uid) or flux_users.refusal(self, uid)

    def submit(self, jobspec: JSON, urgency: int, flags: int = 0, timeout: float | None = None) -> int:
        """Sign a jobspec and submit it as it is."""
        future = _submit(self._handle, jobspec, urgency, flags)
        try:
            future.wait_for(_FOR_EVER if timeout is None else timeout)
            return int(future.get_id())
        except OSError as error:
            words = future.error_string()
            raise _ours(_SUBMIT, OSError(error.errno, words or error.strerror), timeout) from error

    def dump(self, path: str) -> None:
        """Save the instance's data."""
        done = subprocess.run(
            ["flux", "dump", "-q", path],
            env={**os.environ, **({"FLUX_URI": self._uri} if self._uri else {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            raise RequestRefused("flux dump", errno.EIO, done.stderr.decode(errors="replace").strip())

    def sync(self) -> None:
        """Have the KVS make a checkpoint, which it does with a commit of any kind."""
        import flux.kvs  # noqa: PLC0415 - only a lead that saves needs it

        try:
            flux.kvs.put(self._handle, "minicluster.saved", int(time.time()))
            flux.kvs.commit(self._handle, flux.constants.FLUX_KVS_SYNC)
        except OSError as error:
            raise _ours("kvs.commit", error) from error

    def dispatch(self, timeout: float | None) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds."""
        self._reactor.run(timeout)

    def wake(self) -> None:
        """Have `dispatch` return."""
        self._reactor.wake()

    def queue_policy(self) -> str:
        """Return the policy of the loaded scheduler; empty while none is loaded."""
        return loaded_policy.of_flux(self.rpc)

    def rejected_peers(self) -> Sequence[str]:
        """Return the peers that the lead's log has as rejected; the first call begins to follow the log.

        A broker with another certificate is not among them: Flux's lead does not notice its attempts.
        """
        if self._log is None:
            self._log = _FollowedLog(self._handle)
        return lines(self._log.rejected_peers.fresh())

    def close(self) -> None:
        """Hang up."""
        self._reactor.close()
        self._streams.clear()
        self._log = self._handle = None


def _take_item(
    rpc: Any, streams: dict[int, _Stream], number: int, callback: Callback, reactor: _Reactor
) -> None:
    """Pass an answer of a stream to its callback; an exception here would end the reactor with an error."""
    topic = streams[number].topic if number in streams else ""
    refusal = answer = None
    try:
        text = rpc.get_str()
        rpc.reset()
        answer = json.loads(text or "{}")
    except OSError as error:
        refusal = refusal_of(topic, error.errno or errno.EIO, error.strerror or "")
    if number in streams:
        if refusal is not None:
            del streams[number]
        callback(answer, refusal)
    reactor.taken()


def _submit(handle: Any, jobspec: JSON, urgency: int, flags: int) -> Any:
    """Begin to submit a jobspec; the future has `get_id`. Raises RequestRefused, InstanceGone."""
    import flux.job  # noqa: PLC0415 - 3 MB, and hardly any lead server submits

    waitable = bool(flags & flux.constants.FLUX_JOB_WAITABLE)
    try:
        return flux.job.submit_async(handle, json.dumps(jobspec), urgency=urgency, waitable=waitable)
    except OSError as error:
        raise _ours(_SUBMIT, error) from error


def _take_one(future: Any, topic: str, callback: Callback, reactor: _Reactor) -> None:
    """Pass the one answer to its callback; an exception here would end the reactor with an error."""
    refusal = answer = None
    try:
        is_id = topic == _SUBMIT
        answer = {"id": int(future.get_id())} if is_id else json.loads(future.get_str() or "{}")
    except OSError as error:
        words = future.error_string() if topic == _SUBMIT else ""
        refusal = refusal_of(topic, error.errno or errno.EIO, words or error.strerror or "")
    callback(answer, refusal)
    reactor.taken()


class _Reactor:
    """A handle's reactor, which runs only within `run`, and stops at each answer."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._taken = False
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._watchers: list[Any] = []

    def taken(self) -> None:
        """Stop: an answer was handed out."""
        self._taken = True
        self._handle.reactor_stop()

    def _watch(self) -> None:
        """Make the reactor's watchers. They keep the handle open until `close`: hence not before it runs."""
        awake = self._handle.fd_watcher_create(self._awake.fileno(), self._woken, flux.constants.FLUX_POLLIN)
        # Without a message handler the reactor would not notice that the broker hung up.
        listener = self._handle.msg_watcher_create(
            lambda *_: None, flux.constants.FLUX_MSGTYPE_EVENT, "minicluster.none"
        )
        self._watchers = [awake, listener]
        for watcher in self._watchers:
            watcher.start()

    def run(self, timeout: float | None) -> None:
        """Run until answers came, or `wake`, or for `timeout` seconds."""
        if not self._watchers:
            self._watch()
        timer = None
        if timeout is not None:
            timer = self._handle.timer_watcher_create(timeout, lambda *_: self._handle.reactor_stop())
            timer.start()
        try:
            self._run(0)
            for _ in range(BATCH):
                if not self._taken:
                    break
                self._run(flux.constants.FLUX_REACTOR_NOWAIT)
        except OSError as error:
            raise _ours("", error) from error
        finally:
            if timer is not None:
                _let_go(timer)  # else the handle keeps it

    def _run(self, flags: int) -> None:
        self._taken = False
        if self._handle.reactor_run(flags=flags) < 0:
            raise InstanceGone("the broker ended the connection")

    def _woken(self, *_: Any) -> None:
        self._awake.recv(4096)
        self._handle.reactor_stop()

    def wake(self) -> None:
        """Have `run` return; for other threads."""
        with contextlib.suppress(OSError):  # full: it is awake; closed: it is over
            self._waker.send(b"x")

    def close(self) -> None:
        """Destroy the watchers and release the handle."""
        for watcher in self._watchers:
            _let_go(watcher)
        self._watchers.clear()
        self._handle = None
        self._awake.close()
        self._waker.close()


def _let_go(watcher: Any) -> None:
    watcher.stop()
    watcher.destroy()
    watcher.flux_handle = None  # it holds itself, and would hold the connection as long


class _FollowedLog:
    """The lead's log, which names the brokers that it rejected."""

    def __init__(self, handle: Any) -> None:
        self.rejected_peers = RejectedPeers()
        request = {"follow": True, "nobacklog": True}
        try:
            self._log = handle.rpc("log.dmesg", request, flags=flux.constants.FLUX_RPC_STREAMING)
        except OSError as error:
            raise _ours("log.dmesg", error) from error
        self._log.then(self._take_line)

    def _take_line(self, rpc: Any) -> None:
        try:
            line = rpc.get_str() or ""
        except OSError:
            return  # the log ended, and the instance with it
        rpc.reset()
        found = _REJECTED.search(line)
        if found:
            self.rejected_peers.note(found.group(1), found.group(2).strip())


def _ours(topic: str, error: OSError, timeout: float | None = None) -> InstanceError:
    """Return the error of `errors` that corresponds to one of Flux."""
    code = error.errno or errno.EIO
    if code in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN, errno.EHOSTUNREACH):
        return InstanceGone(error.strerror or str(error))
    if code == errno.ETIMEDOUT and timeout is not None:
        return WaitTimeout(f"{topic}: no answer in {timeout:g} s")
    return refusal_of(topic, code, error.strerror or "")
