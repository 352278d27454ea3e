"""Flux's own RPCs as lines of JSON: runs under `flux python`, from where this room is or from its zip.

`main` takes the URI from the arguments, else from FLUX_URI; then come on standard input, one object a line:

    {"id": 7, "topic": "job-list.job-stats", "payload": {}}                  → {"id": 7, "payload": {...}}
    {"id": 8, "topic": "job-info.eventlog-watch", "payload": {...}, "stream": true, "credit": 64}
    {"id": 8, "credit": 32}          room for 32 more items of stream 8
    {"id": 8, "cancel": true}        ends stream 8

and on standard output first `{"engine": "flux"}`, then the answers, {"id", "payload"} or {"id", "errnum",
"errstr"}; the end of a stream is errnum 61 (ENODATA). When the broker hangs up, `{"gone": reason}` is the
last line.
Three topics are the helper's own: `helper.submit` {jobspec, urgency, flags} signs and submits, with the
helper's own environment and working directory where the jobspec has none; `helper.dump` {path} saves the
instance's data; `minicluster-jobs.attributes` {ids} answers {"jobs": [{"id", "user"}]}, `attributes.user` of
the jobs that are known. The helper ends with its standard input.

job-info.eventlog-watch and job-info.lookup may have `"after": N` in their payload: entries 0 to N of the log
are left out here, which Flux cannot do. Then each answer has `"entry"`, the number of its first one.

Everything happens in one reactor. It runs on Pythons as old as Flux's own, hence the plain code.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from typing import Any

import flux
import flux.constants
import flux.job

from broker_config.formats import eventlog
from broker_config.formats.jobspec import complete, user_of
from minicluster.broker_link.line_stream import StreamCall

MAX_BUFFERED = 4096
"""Items of a watched eventlog that may wait for their reader; with more of them the watch is cancelled."""


class AnswerWriter:
    """Standard output, one line an answer; `flux dump` answers from its own thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def line(self, answer: dict[str, Any]) -> None:
        """Write one line."""
        data = json.dumps(answer).encode("ascii") + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._fd, data) :]

    def failure(self, number: int, error: OSError) -> None:
        """Write a refusal."""
        code = error.errno or errno.EIO
        self.line({"id": number, "errnum": code, "errstr": error.strerror or os.strerror(code)})


class FluxStream:
    """A streaming RPC that buffers up to MAX_BUFFERED items for its reader.

    Flux does not wait for slow readers. Where a watched eventlog fills the buffer, the watch is cancelled.
    Once the reader has caught up, it begins again behind what was sent already.
    """

    def __init__(self, handle: Any, answers: AnswerWriter, request: dict[str, Any]) -> None:
        self._handle = handle
        self._request = request
        self._call = StreamCall(request, answers.line)
        self._numbered = self._rewatchable and "after" in request.get("payload", {})
        # Items accepted so far, over all watches; one item is one entry of the log.
        self._taken = request["payload"]["after"] + 1 if self._numbered else 0
        self._skip = 0  # items of this watch that were accepted before, or that nobody wants
        self._let_go = False
        self._watch()

    @property
    def ended(self) -> bool:
        """Whether the end was sent to the reader."""
        return self._call.ended

    @property
    def _rewatchable(self) -> bool:
        return bool(self._request["topic"] == "job-info.eventlog-watch")

    def _watch(self) -> None:
        self._let_go = False
        self._skip = self._taken
        payload = self._request.get("payload", {})
        nodeid = self._request.get("rank", flux.constants.FLUX_NODEID_ANY)
        self._rpc = self._handle.rpc(
            self._request["topic"], payload, nodeid, flux.constants.FLUX_RPC_STREAMING
        )
        self._rpc.then(self._item)

    def _item(self, rpc: Any) -> None:
        try:
            text = rpc.get_str()
        except OSError as error:
            self._stopped(error)
            return
        rpc.reset()
        if self._call.ended or self._let_go:
            return
        if self._skip:
            self._skip -= 1
            return
        item = json.loads(text or "{}")
        if self._numbered:
            item["entry"] = self._taken
        self._taken += 1
        self._call.item(item)
        if self._rewatchable and self._call.buffered >= MAX_BUFFERED:
            self._let_go = True
            self._cancel_rpc()

    def _stopped(self, error: OSError) -> None:
        if self._let_go and error.errno == errno.ENODATA:
            self._rpc = None
            self._watch_again()
        else:
            self._call.stop(error.errno or errno.EIO, error.strerror or "")

    def _watch_again(self) -> None:
        if self._rpc is None and not self._call.buffered and not self._call.ended:
            self._watch()

    def credit(self, more: int) -> None:
        """Allow `more` further items to be sent."""
        self._call.credit(more)
        self._watch_again()

    def cancel(self) -> None:
        """End the stream; its reader receives ENODATA at once."""
        if not self._call.is_stopped:
            self._cancel_rpc()
        self._call.cancel()

    def _cancel_rpc(self) -> None:
        if self._rpc is None:
            return
        nodeid = self._request.get("rank", flux.constants.FLUX_NODEID_ANY)
        tag = {"matchtag": self._rpc.pimpl.get_matchtag()}
        self._handle.rpc(self._request["topic"] + "-cancel", tag, nodeid, flux.constants.FLUX_RPC_NORESPONSE)


class AttributesCall:
    """Looks up `attributes.user` of some jobs, all at once, and answers when the last one is there."""

    def __init__(self, handle: Any, answers: AnswerWriter, number: int, ids: list[int]) -> None:
        self._answers = answers
        self._number = number
        self._left = len(ids)
        self._found: list[dict[str, Any]] = []
        self._error: OSError | None = None
        for jobid in ids:
            handle.rpc("job-info.lookup", {"id": jobid, "keys": ["jobspec"], "flags": 0}).then(
                self._answered, jobid
            )

    def _answered(self, rpc: Any, jobid: int) -> None:
        self._left -= 1
        try:
            spec = json.loads(json.loads(rpc.get_str())["jobspec"])
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EPERM):
                self._error = error
        else:
            self._found.append({"id": jobid, "user": user_of(spec)})
        if not self._left and self._error is not None:
            self._answers.failure(self._number, self._error)
        elif not self._left:
            self._answers.line({"id": self._number, "payload": {"jobs": self._found}})


class Bridge:
    """The reactor's two ends: requests from standard input, answers from the broker."""

    def __init__(self, handle: Any, answers: AnswerWriter) -> None:
        self._handle = handle
        self._answers = answers
        self._rest = b""
        self._streams: dict[int, FluxStream] = {}

    def readable(self, _handle: Any, _watcher: Any, fd: int, _events: int, _args: Any) -> None:
        """Read requests from standard input; its end ends the helper."""
        data = os.read(fd, 1 << 16)
        if not data:
            self._handle.reactor_stop()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._request(json.loads(line))

    def _request(self, request: dict[str, Any]) -> None:
        number = request["id"]
        try:
            if "topic" in request:
                self._begin(request)
            elif number in self._streams:
                self._steer(self._streams[number], request)
        except OSError as error:
            self._answers.failure(number, error)

    def _steer(self, stream: FluxStream, request: dict[str, Any]) -> None:
        if request.get("cancel"):
            stream.cancel()
        else:
            stream.credit(int(request.get("credit", 0)))
        if stream.ended:
            del self._streams[request["id"]]

    def _begin(self, request: dict[str, Any]) -> None:
        topic, payload = request["topic"], request.get("payload", {})
        if topic == "helper.submit":
            self._submit(request["id"], payload)
        elif topic == "helper.dump":
            threading.Thread(target=self._dump, args=(request["id"], payload["path"]), daemon=True).start()
        elif topic == "minicluster-jobs.attributes":
            AttributesCall(self._handle, self._answers, request["id"], payload["ids"])
        elif request.get("stream"):
            self._streams[request["id"]] = FluxStream(self._handle, self._answers, request)
        else:
            nodeid = request.get("rank", flux.constants.FLUX_NODEID_ANY)
            first = payload["after"] + 1 if topic == "job-info.lookup" and "after" in payload else 0
            self._handle.rpc(topic, payload, nodeid).then(self._answered, request["id"], first)

    def _answered(self, rpc: Any, number: int, first: int) -> None:
        try:
            text = rpc.get_str()
        except OSError as error:
            self._answers.failure(number, error)
        else:
            payload = json.loads(text or "{}")
            self._answers.line({"id": number, "payload": _from_entry(payload, first) if first else payload})

    def _submit(self, number: int, payload: dict[str, Any]) -> None:
        waitable = bool(payload["flags"] & flux.constants.FLUX_JOB_WAITABLE)
        complete(payload["jobspec"], os.environ, os.getcwd())  # noqa: PTH109 - as plain as the rest
        future = flux.job.submit_async(
            self._handle, json.dumps(payload["jobspec"]), urgency=payload["urgency"], waitable=waitable
        )
        future.then(self._submitted, number)

    def _submitted(self, future: Any, number: int) -> None:
        try:
            jobid = int(future.get_id())
        except OSError as error:
            words = future.error_string()
            self._answers.failure(number, OSError(error.errno, words or error.strerror))
        else:
            self._answers.line({"id": number, "payload": {"id": jobid}})

    def _dump(self, number: int, path: str) -> None:
        ended = subprocess.run(
            ["flux", "dump", "-q", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        if ended.returncode:
            words = ended.stderr.decode(errors="replace").strip()
            self._answers.failure(number, OSError(errno.EIO, words))
        else:
            self._answers.line({"id": number, "payload": {}})


def _from_entry(answer: dict[str, Any], first: int) -> dict[str, Any]:
    """Return what is stored of a job, its eventlogs from an entry on."""
    kept = {key: eventlog.behind(text, first) for key, text in answer.items() if isinstance(text, str)}
    return {**answer, **kept, "entry": first}


def main() -> int:
    """Serve until standard input or the broker ends."""
    answers = AnswerWriter(os.dup(1))
    os.dup2(2, 1)  # what libraries print must not get between the lines
    uri = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FLUX_URI", "")
    try:
        handle = flux.Flux(uri) if uri else flux.Flux()
        handle.attr_get("version")  # a broker that is about to end accepts the connection and never answers
    except OSError as error:
        answers.line({"gone": error.strerror or str(error)})
        return 1
    if uri:
        os.environ["FLUX_URI"] = uri  # for flux dump
    bridge = Bridge(handle, answers)
    answers.line({"engine": "flux"})
    watcher = handle.fd_watcher_create(0, bridge.readable, flux.constants.FLUX_POLLIN)
    watcher.start()
    # Without a message handler the reactor does not poll the broker's socket and would miss its end.
    listener = handle.msg_watcher_create(
        lambda *_: None, flux.constants.FLUX_MSGTYPE_EVENT, "minicluster.none"
    )
    listener.start()
    try:
        ended = handle.reactor_run()
    except OSError as error:
        answers.line({"gone": error.strerror or str(error)})
        return 1
    if ended < 0:
        answers.line({"gone": "the broker ended the connection"})
        return 1
    return 0
