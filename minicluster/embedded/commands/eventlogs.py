"""`flux job info`, `flux job eventlog` and `flux job wait-event`."""

from __future__ import annotations

import errno
import json
import time
from typing import TYPE_CHECKING, Any

from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands.console import Parser, fail, parsed_id, seconds

if TYPE_CHECKING:
    import argparse

_WAIT_CREATE = 1
_CURRENT = 2


def main(argv: list[str]) -> int:
    """Run the command that argv[0] names."""
    run = {"info": _info, "eventlog": _eventlog, "wait-event": _wait_event}[argv[0]]
    with Client() as client:
        return run(client, argv[1:])


def _info(client: Client, argv: list[str]) -> int:
    parser = Parser("flux job info", usage="flux job info id key")
    parser.add_argument("-o", "--original", action="store_true", help="jobspec as it was submitted")
    parser.add_argument("-b", "--base", action="store_true", help="without the updates of the eventlog")
    parser.add_argument("id")
    parser.add_argument("key")
    options = parser.parse_args(argv)
    flags = 0 if options.original or options.base else _CURRENT
    payload = {"id": parsed_id(options.id), "keys": [options.key], "flags": flags}
    try:
        value = client.rpc("job-info.lookup", payload)[options.key]
    except RpcError as error:
        if error.errnum != errno.ENOENT:
            raise
        fail(str(error) if error.text == "invalid job id" else f"{options.key}: key not found")
    print((value if isinstance(value, str) else json.dumps(value)).removesuffix("\n"))
    return 0


def _add_shape(parser: Parser) -> None:
    text = parser.add_argument
    text("-f", "--format", default="text", choices=("text", "json"), help="output format")
    text("-T", "--time-format", default="raw", choices=("raw", "iso", "offset", "human"), help="time format")
    text("-H", "--human", action="store_true", help="for people")
    text("-p", "--path", default="eventlog", help="eventlog, exec, output or guest.exec.eventlog")


def _path(text: str) -> str:
    return {"exec": "guest.exec.eventlog", "output": "guest.output", "input": "guest.input"}.get(text, text)


def _eventlog(client: Client, argv: list[str]) -> int:
    parser = Parser("flux job eventlog", usage="flux job eventlog [OPTIONS] id")
    _add_shape(parser)
    parser.add_argument("-F", "--follow", action="store_true", help="until the job is inactive")
    parser.add_argument("id")
    options = parser.parse_args(argv)
    payload: JSON = {"id": parsed_id(options.id)}
    path = _path(options.path)
    printer = _Printer(options)
    try:
        if options.follow:
            for response in client.stream("job-info.eventlog-watch", {**payload, "path": path, "flags": 0}):
                printer.show(response["event"])
        else:
            for line in client.rpc("job-info.lookup", {**payload, "keys": [path], "flags": 0})[
                path
            ].splitlines():
                printer.show(line)
    except RpcError as error:
        _absent(error, options)
    return 0


def _absent(error: RpcError, options: argparse.Namespace) -> None:
    if error.errnum != errno.ENOENT:
        raise error
    if options.path == "eventlog" or error.text == "invalid job id":
        fail(f"job {options.id} not found")
    fail(f"eventlog path {options.path} not found")


def _wait_event(client: Client, argv: list[str]) -> int:
    parser = Parser("flux job wait-event", usage="flux job wait-event [OPTIONS] id event")
    _add_shape(parser)
    parser.add_argument("-t", "--timeout", metavar="DURATION", help="give up after DURATION")
    parser.add_argument("-m", "--match-context", metavar="KEY=VAL", help="KEY=VAL in the context")
    parser.add_argument("-c", "--count", type=int, default=1, help="how many such events")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not print the event")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the events before it")
    parser.add_argument("-W", "--waitcreate", action="store_true", help="wait for the log to exist")
    parser.add_argument("id")
    parser.add_argument("event")
    options = parser.parse_args(argv)
    try:
        limit = time.monotonic() + seconds(options.timeout) if options.timeout else None
    except ValueError as error:
        fail(str(error))
    return _Awaited(client, options).wait(limit)


class _Awaited:
    """The wait for one event of a job."""

    def __init__(self, client: Client, options: argparse.Namespace) -> None:
        self._client = client
        self._options = options
        self._printer = _Printer(options)
        self._missing = options.count
        self._refusal: RpcError | None = None

    def wait(self, limit: float | None) -> int:
        options = self._options
        flags = _WAIT_CREATE if options.waitcreate else 0
        payload = {"id": parsed_id(options.id), "path": _path(options.path), "flags": flags}
        self._client.call("job-info.eventlog-watch", payload, self._take, streaming=True)
        while self._missing > 0 and self._refusal is None:
            left = None if limit is None else max(0.0, limit - time.monotonic())
            if not self._client.dispatch(left):
                fail(f"wait-event timeout on event '{options.event}'")
        if self._missing <= 0:
            return 0
        if self._refusal is not None and self._refusal.errnum != errno.ENODATA:
            _absent(self._refusal, options)
        return fail(f"event '{options.event}' never received")

    def _take(self, response: JSON | None, refusal: RpcError | None) -> None:
        if response is None:
            self._refusal = refusal
            return
        if self._missing <= 0:
            return
        event = json.loads(response["event"])
        matched = event["name"] == self._options.event and self._matches(event.get("context") or {})
        self._missing -= matched
        if (self._missing <= 0 and not self._options.quiet) or self._options.verbose:
            self._printer.show(response["event"])

    def _matches(self, context: JSON) -> bool:
        wanted = self._options.match_context
        if not wanted:
            return True
        key, _equals, value = wanted.partition("=")
        found = context.get(key)
        return key in context and value in (found, json.dumps(found))


class _Printer:
    """Prints events as asked: text or JSON, with times raw, ISO, relative or for people."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._json = options.format == "json"
        self._times = "human" if options.human else options.time_format
        self._first: float | None = None
        self._minute = ""

    def show(self, line: str) -> None:
        """Print one RFC 18 line."""
        if self._json:
            print(line.removesuffix("\n"), flush=True)
            return
        event = json.loads(line)
        words = [self._time(event["timestamp"]), event["name"]]
        words += [f"{key}={_compact(value)}" for key, value in (event.get("context") or {}).items()]
        print(" ".join(words), flush=True)

    def _time(self, stamp: float) -> str:
        if self._first is None:
            self._first = stamp
        if self._times == "iso":
            whole = int(stamp)
            return (
                time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((stamp - whole) * 1e6):06d}Z"
            )
        if self._times == "offset":
            return f"{stamp - self._first:.6f}"
        if self._times == "human":
            return self._human(stamp, stamp - self._first)
        return f"{stamp:.6f}"

    def _human(self, stamp: float, elapsed: float) -> str:
        """The date when the minute changes, else the seconds since the first event."""
        minute = time.strftime("%b%d %H:%M", time.localtime(stamp))
        if minute != self._minute:
            self._minute = minute
            return f"[{minute}]"
        return f"[{f'+{elapsed:.6f}':>11}]"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
