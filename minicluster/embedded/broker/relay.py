"""This broker's topics as lines of JSON on standard input and output, for clients on other machines.

The lines are those of minicluster/broker_link/flux_helper.py, which does the same for real Flux:

    {"id": 7, "topic": "job-list.job-stats", "payload": {}}                  → {"id": 7, "payload": {...}}
    {"id": 8, "topic": "job-info.eventlog-watch", "payload": {...}, "stream": true, "credit": 64}
    {"id": 8, "credit": 32}          room for 32 more items of stream 8
    {"id": 8, "cancel": true}        ends stream 8

The first line that comes back is {"engine": "embedded"}; then the answers, {"id", "payload"} or {"id",
"errnum", "errstr"}. Where the broker closed the connection, {"gone": reason} comes. The relay ends at the end
of its standard input.
"""

from __future__ import annotations

import errno
import json
import os
import select
from typing import TYPE_CHECKING, Any

from minicluster.broker_link.line_stream import StreamCall
from minicluster.embedded.client import BrokerClient
from minicluster.embedded.errors import BrokerUnreachable, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    JSON = dict[str, Any]
    LineWriter = Callable[[JSON], None]

_CHUNK = 1 << 16
_INPUT, _OUTPUT = 0, 1


class StreamConnection:
    """A streaming request on a connection of its own, read only while the client has credit.

    So the broker waits with responses where the client is slow.
    """

    def __init__(self, uri: str, request: JSON, answer: LineWriter) -> None:
        self._call = StreamCall(request, answer)
        self._client = BrokerClient(uri)
        self._client.call(request["topic"], request.get("payload"), self._take, streaming=True)

    def fileno(self) -> int:
        """Return the connection's descriptor, for select."""
        return self._client.fileno()

    @property
    def ended(self) -> bool:
        """Whether the client has received the end of the stream."""
        return self._call.ended

    @property
    def has_room(self) -> bool:
        """Whether the client has credit left."""
        return self._call.has_room

    def read(self) -> None:
        """Pass on the responses that came. Raises RpcError where the broker closed the connection."""
        self._client.dispatch()
        self._close_if_ended()

    def _take(self, payload: JSON | None, refusal: RpcError | None) -> None:
        if refusal is None:
            self._call.item(payload)
        else:
            self._call.stop(refusal.errnum, refusal.text)

    def credit(self, more: int) -> None:
        """Allow `more` further items."""
        self._call.credit(more)
        self._close_if_ended()

    def cancel(self) -> None:
        """End the stream; its client receives ENODATA at once."""
        self._call.cancel()
        self._close_if_ended()

    def _close_if_ended(self) -> None:
        if self._call.ended:
            self._client.close()


class Relay:
    """Passes the lines' requests on to the broker of `uri`. Raises BrokerUnreachable."""

    def __init__(self, uri: str, answer: LineWriter) -> None:
        self._uri = uri
        self._answer = answer
        self._calls = BrokerClient(uri)
        self._streams: dict[int, StreamConnection] = {}
        self._rest = b""

    def serve(self) -> None:
        """Serve until standard input ends. Raises RpcError or BrokerUnreachable where the broker is gone."""
        while True:
            streams = {each.fileno(): each for each in self._streams.values() if each.has_room}
            ready, _, _ = select.select([_INPUT, self._calls.fileno(), *streams], [], [])
            if self._calls.fileno() in ready:
                self._calls.dispatch()
            for descriptor in streams.keys() & set(ready):
                streams[descriptor].read()
            if _INPUT in ready and not self._read():
                return
            self._streams = {number: each for number, each in self._streams.items() if not each.ended}

    def _read(self) -> bool:
        data = os.read(_INPUT, _CHUNK)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._request(json.loads(line))
        return bool(data)

    def _request(self, request: JSON) -> None:
        number, topic = request["id"], request.get("topic")
        stream = self._streams.get(number)
        if topic is None:
            if stream is not None and request.get("cancel"):
                stream.cancel()
            elif stream is not None:
                stream.credit(int(request.get("credit", 0)))
        elif request.get("stream"):
            self._streams[number] = StreamConnection(self._uri, request, self._answer)
        else:
            topic, payload = _translated(topic, request.get("payload") or {})
            self._calls.call(topic, payload, lambda *answer: self._answered(number, *answer))

    def _answered(self, number: int, payload: JSON | None, refusal: RpcError | None) -> None:
        answer = _refused(refusal) if refusal is not None else {"payload": payload}
        self._answer({"id": number, **answer})


def _translated(topic: str, payload: JSON) -> tuple[str, JSON]:
    """Return this engine's topic and payload for a topic of the helper.

    A submitted job gets this process's environment and directory where it has none.
    """
    if topic == "helper.dump":
        return "content.dump", payload
    if topic == "helper.submit":
        from broker_config.formats.jobspec import complete  # noqa: PLC0415 - few relays submit

        complete(payload["jobspec"], os.environ, os.getcwd())  # noqa: PTH109 - pathlib costs start time
        return "job-ingest.submit", payload
    return topic, payload


def _refused(refusal: RpcError) -> JSON:
    return {"errnum": refusal.errnum, "errstr": refusal.text}


def _write(answer: JSON) -> None:
    data = json.dumps(answer).encode("ascii") + b"\n"
    while data:
        data = data[os.write(_OUTPUT, data) :]


def main(arguments: Sequence[str]) -> int:
    """Relay to the broker of the URI in `arguments`, else of FLUX_URI."""
    uri = arguments[0] if arguments else os.environ.get("FLUX_URI", "")
    try:
        relay = Relay(uri, _write)
        _write({"engine": "embedded"})
        relay.serve()
    except BrokerUnreachable as error:
        _write({"gone": str(error)})
        return 1
    except RpcError as error:
        _write(
            {"gone": "the broker ended the connection" if error.errnum == errno.ECONNRESET else error.text}
        )
        return 1
    except BrokenPipeError:
        return 1
    return 0
