"""`flux job attach|status|wait|info|eventlog|wait-event|raise|kill|urgency|stats|id|last`."""

from __future__ import annotations

import errno
import importlib
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, note, parsed_id
from minicluster.embedded.commands.submission import URGENCY

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "flux-{name}: "
_ELSEWHERE = {
    "attach": "attach",
    "info": "eventlogs",
    "eventlog": "eventlogs",
    "wait-event": "eventlogs",
    "status": "job_outcome",
    "last": "job_outcome",
}
_ABSENT = "hostpids killall list list-ids memo namespace purge raiseall submit taskmap timeleft"


def main(argv: list[str]) -> int:
    """Run `flux job COMMAND …`."""
    command = argv[1] if len(argv) > 1 else ""
    if command in _ELSEWHERE:
        module = importlib.import_module(f"minicluster.embedded.commands.{_ELSEWHERE[command]}")
        words = argv[2:] if command == "attach" else argv[1:]
        return int(module.main(words))
    if command in _ABSENT.split():
        fail(f"`{command}' is not in the embedded instance", 2)
    if command not in _COMMANDS:
        names = " ".join(sorted({*_ELSEWHERE, *_COMMANDS}))
        note(f"Usage: flux-job [OPTIONS] COMMAND ARGS\nCommands: {names}")
        return 0 if command in ("-h", "--help") else 1
    return _COMMANDS[command](argv[2:])


def _raise(argv: list[str]) -> int:
    parser = Parser("flux job raise", usage="flux job raise [OPTIONS] ids... [message ...]")
    parser.add_argument("-s", "--severity", type=int, default=0, metavar="N", help="0 (fatal) to 7")
    parser.add_argument("-t", "--type", default="cancel", help="exception type")
    parser.add_argument("words", nargs="+", metavar="ids")
    options = parser.parse_args(argv)
    ids, message = _leading_ids(options.words)
    payload = {"severity": options.severity, "type": options.type, "note": " ".join(message)}
    return _each(ids, "raise", "job-manager.raise", payload)


def _leading_ids(words: list[str]) -> tuple[list[str], list[str]]:
    """Split words into leading job ids, and the message behind them."""
    for index, word in enumerate(words[1:], 1):
        try:
            jobid.parse(word)
        except ValueError:
            return words[:index], words[index:]
    return words, []


def _kill(argv: list[str]) -> int:
    parser = Parser("flux job kill", usage="flux job kill [OPTIONS] ids...")
    parser.add_argument("-s", "--signal", default="SIGTERM", metavar="SIG", help="signal (default SIGTERM)")
    parser.add_argument("ids", nargs="+")
    options = parser.parse_args(argv)
    signum = _signal(options.signal)
    if signum is None:
        fail(f"kill: Invalid signal {options.signal}")
    return _each(options.ids, "kill", "job-manager.kill", {"signum": signum})


def _signal(text: str) -> int | None:
    """SIGTERM, TERM or 15 → 15; None for what is no signal."""
    if text.isdigit():
        return int(text) if 0 < int(text) < signal.NSIG else None
    return getattr(signal.Signals, "SIG" + text.removeprefix("SIG"), None)


def _each(ids: list[str], verb: str, topic: str, payload: JSON) -> int:
    """Send one request for each job, print each refusal, and return the exit code."""
    wrong = "invalid jobid: {}" if verb == "kill" else 'error parsing jobid: "{}"'
    numbers = [parsed_id(text, wrong) for text in ids]
    code = 0
    with BrokerClient() as client:
        for text, number in zip(ids, numbers, strict=True):
            try:
                client.rpc(topic, {**payload, "id": number})
            except RpcError as error:
                note(f"flux-job: {verb} {text}: {error}")
                code = 1
    return code


def _urgency(argv: list[str]) -> int:
    parser = Parser("flux job urgency", usage="flux job urgency [OPTIONS] id urgency")
    parser.flag("-v", "--verbose", help="print the old urgency")
    parser.add_argument("id")
    parser.add_argument("urgency")
    options = parser.parse_args(argv)
    word = options.urgency.lower()
    if word not in URGENCY and not word.lstrip("-").isdigit():
        fail("invalid urgency value")
    value = URGENCY[word] if word in URGENCY else int(word)
    payload = {"id": parsed_id(options.id), "urgency": value}
    with BrokerClient() as client:
        try:
            old = client.rpc("job-manager.urgency", payload)["old_urgency"]
        except RpcError as error:
            fail(f"{options.id}: {error}")
    if options.verbose:
        note(f"old urgency: {({0: 'job held', 31: 'job expedited'}).get(old, old)}")
    return 0


def _wait(argv: list[str]) -> int:
    parser = Parser("flux job wait", usage="flux job wait [--all] [id]")
    parser.flag("-a", "--all", help="wait for all waitable jobs")
    parser.add_argument("id", nargs="?")
    options = parser.parse_args(argv)
    if options.all and options.id:
        fail("jobid not supported with --all")
    with BrokerClient() as client:
        return _wait_all(client) if options.all else _wait_one(client, options.id)


def _wait_one(client: BrokerClient, text: str | None) -> int:
    try:
        answer = client.rpc("job-manager.wait", {"id": parsed_id(text) if text else -1})
    except RpcError as error:
        if error.errnum != errno.ECHILD:
            raise
        none = "there are no more waitable jobs"
        fail("invalid job id, or job may be inactive and not waitable" if text else none, 2)
    if not text:
        print(jobid.f58(answer["id"]))
    if not answer["success"]:
        fail(answer["errstr"])
    return 0


def _wait_all(client: BrokerClient) -> int:
    code = 0
    while True:
        try:
            answer = client.rpc("job-manager.wait", {"id": -1})
        except RpcError as error:
            if error.errnum == errno.ECHILD:
                return code
            raise
        if not answer["success"]:
            code = 1
            note(f"{jobid.f58(answer['id'])}: {answer['errstr']}")


def _stats(argv: list[str]) -> int:
    Parser("flux job stats").parse_args(argv)
    with BrokerClient() as client:
        print(json.dumps(client.rpc("job-list.job-stats"), separators=(",", ":")))
    return 0


def _id(argv: list[str]) -> int:
    parser = Parser("flux job id", usage="flux job id [OPTIONS] [id ...]")
    forms: dict[str, Callable[[int], Any]] = {
        "dec": int,
        "hex": hex,
        "kvs": jobid.kvs,
        "dothex": jobid.dothex,
        "f58": jobid.f58,
    }
    parser.add_argument("-t", "--to", default="dec", choices=sorted(forms), help="form to convert to")
    parser.add_argument("ids", nargs="*")
    options = parser.parse_args(argv)
    for text in options.ids or map(str.strip, sys.stdin):
        try:
            print(forms[options.to](jobid.parse(text)))
        except ValueError:
            fail(f"{text}: malformed input")
    return 0


_COMMANDS = {
    "raise": _raise,
    "kill": _kill,
    "urgency": _urgency,
    "wait": _wait,
    "stats": _stats,
    "id": _id,
}
