"""`flux submit` and `flux run`."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

from broker_config.formats import idset, jobid
from broker_config.formats.errors import ParseError
from minicluster.embedded.client import JSON, BrokerClient, RpcError
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
    parser = submission.parser(command)
    if command == "submit":
        parser.add_argument(
            "--cc", metavar="IDSET", help="one job for each id, which is $FLUX_JOB_CC and {cc}"
        )
        parser.add_argument("--wait-event", metavar="NAME", help="wait for event NAME of all jobs")
        parser.flag("--wait", help="wait for all jobs to end")
        parser.flag("--watch", help="show the output of all jobs; implies --wait")
    options = parser.parse_args(words)
    options.command = without_dashes(options.command)
    if command == "submit":
        return _submit(options)
    return submit_and_attach(jobspec(options, options.command, environment(options.env)), options)


def without_dashes(command: list[str]) -> list[str]:
    """Return the words without the `--` that ended the options."""
    return command[1:] if command[:1] == ["--"] else command


def submit_and_attach(spec: JSON, options: argparse.Namespace) -> int:
    """Submit one job and follow it; return its exit code. With --dry-run only print it."""
    if options.dry_run:
        print(json.dumps(spec))
        return 0
    from minicluster.embedded.commands.attach import attach  # noqa: PLC0415 - submit alone does not need it

    with BrokerClient() as client:
        number = client.rpc("job-ingest.submit", request(spec, options))["id"]
        if options.verbose:
            note(f"jobid: {jobid.f58(number)}")
        options.show_events = options.verbose > 1
        return attach(client, number, options)


def request(spec: JSON, options: argparse.Namespace) -> JSON:
    """Return the payload of job-ingest.submit."""
    return {"jobspec": spec, "urgency": submission.urgency(options), "flags": submission.flags(options)}


def _submit(options: argparse.Namespace) -> int:
    requests = _requests(options)
    first = next(requests)  # what is wrong with the options shows before anything is submitted
    if options.dry_run:
        print(json.dumps(first["jobspec"]))  # the first of several copies
        return 0
    with BrokerClient() as client:
        return _Submitting(client, options).all(first, requests)


def _requests(options: argparse.Namespace) -> Iterator[JSON]:
    variables = environment(options.env)
    if options.cc is None:
        yield request(jobspec(options, options.command, variables), options)
        return
    try:
        numbers = idset.decode(options.cc)
    except ParseError:
        fail(f"IDset(): Invalid argument: {options.cc}")
    for number in numbers:
        copy = submission.replaced(options, number)
        own = environment(copy.env) if copy.env != options.env else variables
        own = own._replace(values={**own.values, "FLUX_JOB_CC": str(number)})
        yield request(jobspec(copy, copy.command, own), copy)


class _Submitting:
    """Submits jobs in a window, prints their ids, watches them if asked to, keeps the largest exit code."""

    def __init__(self, client: BrokerClient, options: argparse.Namespace) -> None:
        self._client = client
        self._options = options
        self._unanswered = 0
        self._code = 0
        self._watcher: Any = None
        if options.wait or options.watch or options.wait_event:
            from minicluster.embedded.commands.watcher import JobWatcher  # noqa: PLC0415 - only waiting needs it

            self._watcher = JobWatcher(client, options)

    def all(self, first: JSON, others: Iterator[JSON]) -> int:
        """Submit all requests; return the exit code."""
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
