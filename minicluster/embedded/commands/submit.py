"""`flux submit` and `flux run`."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

from broker_config import idset
from broker_config.errors import ParseError
from minicluster.embedded import jobid
from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands import submission
from minicluster.embedded.commands.console import fail, note
from minicluster.embedded.commands.environment import environment
from minicluster.embedded.commands.specification import jobspec

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_WINDOW = 128  # submissions without an answer so far


def main(argv: list[str]) -> int:
    """Run `flux submit` or `flux run`."""
    command, *words = argv
    options = _parser(command).parse_args(words)
    options.command = without_dashes(options.command)
    if command == "run":
        return _run(options)
    return _submit(options)


def without_dashes(command: list[str]) -> list[str]:
    """The words without the `--` that ended the options."""
    return command[1:] if command[:1] == ["--"] else command


def _parser(command: str) -> argparse.ArgumentParser:
    options = submission.parser(command)
    options.add_argument("--wait-event", metavar="NAME", help="wait for event NAME")
    if command == "submit":
        options.add_argument(
            "--cc", metavar="IDSET", help="one job for each id, which is $FLUX_JOB_CC and {cc}"
        )
        options.add_argument("--bcc", metavar="IDSET", help="like --cc without FLUX_JOB_CC")
        options.add_argument("--wait", action="store_true", help="wait for all jobs to end")
        options.add_argument(
            "--watch", action="store_true", help="show the output of all jobs; implies --wait"
        )
    return options


def _run(options: argparse.Namespace) -> int:
    spec = jobspec(options, options.command, environment(options.env))
    if options.dry_run:
        print(json.dumps(spec))
        return 0
    with Client() as client:
        return submit_and_attach(client, spec, options)


def submit_and_attach(client: Client, spec: JSON, options: argparse.Namespace) -> int:
    """Submit one job and follow it; returns its exit code."""
    from minicluster.embedded.commands.attach import attach  # noqa: PLC0415 - submit alone does not need it

    number = client.rpc("job-ingest.submit", request(spec, options))["id"]
    if options.verbose:
        note(f"jobid: {jobid.f58(number)}")
    options.read_only = False
    options.show_events = options.verbose > 1
    options.show_exec = options.verbose > 2
    options.wait_event = options.wait_event or "finish"
    return attach(client, number, options)


def request(spec: JSON, options: argparse.Namespace) -> JSON:
    """The payload of job-ingest.submit."""
    return {"jobspec": spec, "urgency": submission.urgency(options), "flags": submission.flags(options)}


def _submit(options: argparse.Namespace) -> int:
    numbers = _copies(options)
    if options.dry_run:
        for one in _requests(options, numbers):
            print(json.dumps(one["jobspec"]))
        return 0
    requests = _requests(options, numbers)
    first = next(requests)  # what is wrong with the options shows before anything is submitted
    with Client() as client:
        return _Submitting(client, options).all(first, requests)


def _copies(options: argparse.Namespace) -> tuple[int, ...] | None:
    if options.cc and options.bcc:
        fail("specify only one of --cc or --bcc")
    text = options.cc or options.bcc
    try:
        return idset.decode(text) if text else None
    except ParseError:
        fail(f"IDset(): Invalid argument: {text}")


def _requests(options: argparse.Namespace, numbers: tuple[int, ...] | None) -> Iterator[JSON]:
    variables = environment(options.env)
    if numbers is None:
        yield request(jobspec(options, options.command, variables), options)
        return
    for number in numbers:
        copy = submission.replaced(options, number)
        changed = copy.env != options.env
        own = environment(copy.env) if changed else variables
        yield request(jobspec(copy, copy.command, _marked(own, number, options)), copy)


def _marked(variables: dict[str, str], number: int, options: argparse.Namespace) -> dict[str, str]:
    return {**variables, "FLUX_JOB_CC": str(number)} if options.cc else variables


class _Submitting:
    """Submits in a window, prints ids as they are accepted, watches as asked, keeps the largest exit code."""

    def __init__(self, client: Client, options: argparse.Namespace) -> None:
        self._client = client
        self._options = options
        self._unanswered = 0
        self._code = 0
        self._watcher: Any = None
        if options.wait or options.watch or options.wait_event:
            from minicluster.embedded.commands.watching import Watcher  # noqa: PLC0415 - only waiting needs it

            self._watcher = Watcher(client, options)

    def all(self, first: JSON, others: Iterator[JSON]) -> int:
        """Submit everything; returns the exit code."""
        self._send(first)
        for one in others:
            while self._unanswered >= _WINDOW:
                self._client.dispatch()
            self._client.dispatch(0)
            self._send(one)
        while self._client.outstanding:
            self._client.dispatch()
        return max(self._code, self._watcher.code if self._watcher else 0)

    def _send(self, payload: JSON) -> None:
        self._unanswered += 1
        self._client.call("job-ingest.submit", payload, self._answered)

    def _answered(self, answer: JSON | None, refusal: RpcError | None) -> None:
        self._unanswered -= 1
        if answer is None:
            self._code = max(self._code, 1)
            refusal = refusal or RpcError(errno.EPROTO)
            note(f"[Errno {refusal.errnum}] {refusal}")
            return
        if not self._options.quiet:
            print(jobid.f58(answer["id"]), flush=True)
        if self._watcher is not None:
            self._watcher.follow(answer["id"])
