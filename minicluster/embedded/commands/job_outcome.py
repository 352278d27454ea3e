"""`flux job status` and `flux job last`."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.job_states import JobState
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, note, parsed_id
from minicluster.embedded.commands.output import exit_code

if TYPE_CHECKING:
    import argparse

_KEYS = ("exception_type", "exception_note", "exception_severity", "t_cleanup", "waitstatus", "result")
_ATTRIBUTES = ["exception_occurred", "t_submit", "t_run", *_KEYS]


def main(argv: list[str]) -> int:
    """Run the command that argv[0] names."""
    return _status(argv[1:]) if argv[0] == "status" else _last(argv[1:])


def _status(argv: list[str]) -> int:
    """Wait for jobs and return the largest exit code, as a shell would count it."""
    parser = Parser("flux job status", usage="flux job status [OPTIONS] id [id...]")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="print failures; twice: all")
    parser.add_argument(
        "-e", "--exception-exit-code", type=int, default=1, metavar="N", help="of jobs that never ran"
    )
    parser.flag("-j", "--json", help="print how each job ended as JSON")
    parser.add_argument("ids", nargs="+")
    options = parser.parse_args(argv)
    numbers = [parsed_id(text) for text in options.ids]
    several = options.verbose and len(numbers) > 1
    if several:
        note(f"flux-job: fetching status for {len(numbers)} jobs")
    with BrokerClient() as client:
        outcomes = [_outcome(client, number) for number in numbers]
    if several:
        note("flux-job: all done.")
    return max(_shown(text, each, options) for text, each in zip(options.ids, outcomes, strict=True))


def _outcome(client: BrokerClient, number: int) -> JSON | None:
    """Return the outcome of a job once it is inactive; None where there is no such job."""
    payload = {"id": number, "state": int(JobState.INACTIVE), "attrs": _ATTRIBUTES}
    try:
        job: JSON = client.rpc("job-list.list-id", payload)["job"]
    except RpcError as error:
        if error.errnum == errno.ENOENT:
            return None
        raise
    if "waitstatus" not in job:
        job.pop("t_cleanup", None)  # Flux has it from the end of the tasks
    return job


def _shown(text: str, outcome: JSON | None, options: argparse.Namespace) -> int:
    if outcome is None:
        fail(f"{text}: No such job")
    if options.json:
        print(json.dumps(outcome, separators=(",", ":")))
    status = outcome.get("waitstatus", 0)
    code = exit_code(status)
    ended = outcome.get("exception_severity") == 0
    if options.verbose and status & 0x7F:
        note(f"flux-job: {text}: job shell died by signal {status & 0x7F}")
    elif options.verbose > 1 or (options.verbose and code):
        how = f"exception type={outcome['exception_type']}" if ended else f"exited with exit code {code}"
        note(f"flux-job: {text}: {how}")
    return max(code, options.exception_exit_code if ended else 0)


def _last(argv: list[str]) -> int:
    parser = Parser("flux job last", usage="flux job last [N|SLICE]")
    parser.add_argument("slice", nargs="?", default="1", help="how many, or as [2:4]; the latest is 0")
    chosen = parser.parse_args(argv).slice
    if "[" not in chosen and not chosen.isdigit():
        parser.error(f"invalid SLICE: '{chosen}'")
    with BrokerClient() as client:
        try:
            ids = client.rpc(
                "job-manager.history.get", {"slice": chosen if "[" in chosen else f"[:{chosen}]"}
            )["jobs"]
        except RpcError as error:
            fail(str(error))
    if not ids:
        fail("job history is empty")
    for number in ids:
        print(jobid.f58(number))
    return 0
