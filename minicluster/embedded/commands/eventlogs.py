"""`flux job info`, `flux job eventlog` and `flux job wait-event`."""

from __future__ import annotations

import errno
import json
import time
from typing import TYPE_CHECKING, Any

from broker_config.formats import eventlog
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, limit, parsed_id

if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

_PATHS = {"exec": "guest.exec.eventlog", "output": "guest.output", "input": "guest.input"}


def main(argv: list[str]) -> int:
    """Run the command that argv[0] names."""
    run = {"info": _info, "eventlog": _eventlog, "wait-event": _wait_event}[argv[0]]
    return run(argv[1:])


def _info(argv: list[str]) -> int:
    parser = Parser("flux job info", usage="flux job info id key")
    parser.add_argument("id")
    parser.add_argument("key")
    options = parser.parse_args(argv)
    try:
        with BrokerClient() as client:
            print(_value_of(client, options.id, options.key))
    except RpcError as error:
        if error.errnum != errno.ENOENT:
            raise
        fail(str(error) if error.text == "invalid job id" else f"{options.key}: key not found")
    return 0


def _value_of(client: BrokerClient, jobid: str, key: str) -> str:
    value = client.rpc("job-info.lookup", {"id": parsed_id(jobid), "keys": [key], "flags": 0})[key]
    return value if isinstance(value, str) else json.dumps(value)


def _parser(command: str, operands: str) -> Parser:
    parser = Parser(f"flux job {command}", usage=f"flux job {command} [OPTIONS] {operands}")
    text = parser.add_argument
    text("-f", "--format", default="text", choices=("text", "json"), help="output format")
    text("-T", "--time-format", default="raw", choices=("raw", "offset"), help="time format")
    text("-p", "--path", default="eventlog", help="eventlog, exec, output or guest.exec.eventlog")
    text("id")
    return parser


def _eventlog(argv: list[str]) -> int:
    options = _parser("eventlog", "id").parse_args(argv)
    printer = _Printer(options)
    try:
        with BrokerClient() as client:
            value = _value_of(client, options.id, _PATHS.get(options.path, options.path))
    except RpcError as error:
        _absent(error, options)
    for line in eventlog.lines(value):
        printer.show(line)
    return 0


def _absent(error: RpcError, options: argparse.Namespace) -> NoReturn:
    if error.errnum != errno.ENOENT:
        raise error
    if options.path == "eventlog" or error.text == "invalid job id":
        fail(f"job {options.id} not found")
    fail(f"eventlog path {options.path} not found")


def _wait_event(argv: list[str]) -> int:
    parser = _parser("wait-event", "id event")
    parser.add_argument("-t", "--timeout", metavar="DURATION", help="give up after DURATION")
    parser.add_argument("-m", "--match-context", metavar="KEY=VAL", help="KEY=VAL in the context")
    parser.flag("-q", "--quiet", help="do not print the event")
    parser.flag("-v", "--verbose", help="print the events before it")
    parser.add_argument("event")
    options = parser.parse_args(argv)
    with BrokerClient() as client:
        return _Awaited(client, options).wait(limit(options.timeout))


class _Awaited:
    """The wait for one event of a job."""

    def __init__(self, client: BrokerClient, options: argparse.Namespace) -> None:
        self._client = client
        self._options = options
        self._printer = _Printer(options)
        self._came = False
        self._refusal: RpcError | None = None

    def wait(self, timeout: float | None) -> int:
        options = self._options
        end = None if timeout is None else time.monotonic() + timeout
        payload = {"id": parsed_id(options.id), "path": _PATHS.get(options.path, options.path), "flags": 0}
        self._client.call("job-info.eventlog-watch", payload, self._take, streaming=True)
        while not self._came and self._refusal is None:
            if not self._client.dispatch(None if end is None else max(0.0, end - time.monotonic())):
                fail(f"wait-event timeout on event '{options.event}'")
        if self._came:
            return 0
        if self._refusal is not None and self._refusal.errnum != errno.ENODATA:
            _absent(self._refusal, options)
        return fail(f"event '{options.event}' never received")

    def _take(self, response: JSON | None, refusal: RpcError | None) -> None:
        if response is None or self._came:
            self._refusal = refusal
            return
        event = eventlog.decode(response["event"])
        self._came = event["name"] == self._options.event and self._matches(eventlog.context(event))
        if (self._came and not self._options.quiet) or self._options.verbose:
            self._printer.show(response["event"])

    def _matches(self, context: JSON) -> bool:
        key, _equals, value = (self._options.match_context or "").partition("=")
        return not key or (key in context and value in (context[key], json.dumps(context[key])))


class _Printer:
    """Prints events as its options define: text or JSON, with raw or relative times."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._first: float | None = None

    def show(self, line: str) -> None:
        """Print one RFC 18 line."""
        if self._options.format == "json":
            print(line.removesuffix("\n"), flush=True)
            return
        event = eventlog.decode(line)
        if self._first is None:
            self._first = event["timestamp"] if self._options.time_format == "offset" else 0.0
        words = [f"{event['timestamp'] - self._first:.6f}", event["name"]]
        words += [f"{key}={_compact(value)}" for key, value in eventlog.context(event).items()]
        print(" ".join(words), flush=True)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
