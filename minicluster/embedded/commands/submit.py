"""`flux submit` and `flux run`."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import idset, jobid
from broker_config.formats.errors import ParseError
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import submission
from minicluster.embedded.commands.console import Parser, fail, note
from minicluster.embedded.commands.environment import environment
from minicluster.embedded.commands.specification import jobspec

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

_WINDOW = 128  # submissions without an answer so far


class SubmitRequest(NamedTuple):
    """The payload of a job-ingest.submit, and what stands before a refusal of it."""

    payload: JSON
    label: str = ""


def main(argv: list[str]) -> int:
    """Run `flux submit` or `flux run`."""
    command, *words = argv
    parser = submission.parser(command)
    if command == "submit":
        add_copies(parser)
    options = parser.parse_args(words)
    options.command = without_dashes(options.command)
    if command == "submit":
        return _submit(options)
    return submit_and_attach(jobspec(options, options.command, environment(options.env)), options)


def add_copies(parser: Parser) -> None:
    """Add the options of commands that submit several jobs."""
    text = parser.add_argument
    text("--cc", metavar="IDSET", help="one job for each id, which is $FLUX_JOB_CC and {cc}")
    text("--bcc", metavar="IDSET", help="the same without $FLUX_JOB_CC")
    text("--wait-event", metavar="NAME", help="wait for event NAME of all jobs")
    parser.flag("--wait", help="wait for all jobs to end")
    parser.flag("--watch", help="show the output of all jobs; implies --wait")


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
    requests = copies(options)
    first = next(requests)  # what is wrong with the options shows before anything is submitted
    if options.dry_run:
        print(json.dumps(first.payload["jobspec"]))  # the first of several copies
        return 0
    return submit_all(options, (one for some in ((first,), requests) for one in some))


def copies(options: argparse.Namespace) -> Iterator[SubmitRequest]:
    """Yield the request for the job, or for each copy that --cc or --bcc asks for."""
    if options.cc and options.bcc:
        fail("specify only one of --cc or --bcc")
    ids = options.cc or options.bcc
    if ids is None:
        yield SubmitRequest(request(jobspec(options, options.command, environment(options.env)), options))
        return
    from minicluster.embedded.commands.replacements import replaced  # noqa: PLC0415 - one job does not need it

    try:
        numbers = idset.decode(ids)
    except ParseError:
        fail(f"IDset(): Invalid argument: {ids}")
    for number in numbers:
        copy = replaced(options, cc=number)
        variables = environment(copy.env)
        if options.cc:
            variables.values["FLUX_JOB_CC"] = str(number)
        yield SubmitRequest(request(jobspec(copy, copy.command, variables), copy), f"cc={number}: ")


def submit_all(options: argparse.Namespace, requests: Iterable[SubmitRequest]) -> int:
    """Submit jobs, many at once, and follow them if asked to; return the exit code."""
    with BrokerClient() as client:
        return _Submitting(client, options).all(requests)


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

    def all(self, requests: Iterable[SubmitRequest]) -> int:
        """Submit all requests; return the exit code."""
        for one in requests:
            while self._unanswered >= _WINDOW:
                self._client.dispatch()
            self._client.dispatch(0)
            self._send(one)
        while self._client.outstanding:
            self._client.dispatch()
        return max(self._code, self._watcher.code if self._watcher else 0)

    def _send(self, one: SubmitRequest) -> None:
        self._unanswered += 1
        self._client.call(
            "job-ingest.submit", one.payload, lambda *answer: self._answered(one.label, *answer)
        )

    def _answered(self, label: str, answer: JSON | None, refusal: RpcError | None) -> None:
        self._unanswered -= 1
        if answer is None:
            self._code = max(self._code, 1)
            refusal = refusal or RpcError(errno.EPROTO)
            note(f"{label}[Errno {refusal.errnum}] {refusal}")
            return
        if not self._options.quiet:
            print(jobid.f58(answer["id"]), flush=True)
        if self._watcher is not None:
            self._watcher.follow(answer["id"])
