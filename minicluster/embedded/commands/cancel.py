"""`flux cancel`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.job_states import JobState
from minicluster.embedded.client import BrokerClient, RpcError
from minicluster.embedded.commands.console import Parser, fail, job_argument, note

if TYPE_CHECKING:
    import argparse

_CANCELABLE = int(JobState.PENDING | JobState.RUN)


def main(argv: list[str]) -> int:
    """Run `flux cancel`."""
    parser = Parser("flux-cancel", usage="flux cancel [OPTIONS] [JOBID...]")
    parser.add_argument("jobids", metavar="JOBID...", type=job_argument, nargs="*", help="jobs to cancel")
    parser.add_argument("-m", "--message", metavar="NOTE", default="", help="note of the exception")
    parser.flag("--all", help="all jobs")
    parser.flag("-n", "--dry-run", help="cancel nothing")
    parser.flag("-q", "--quiet", help="say nothing when no job matches")
    options = parser.parse_args(argv[1:])
    if options.jobids and options.all:
        fail("Do not specify job ids with --all or --states")
    if not options.jobids and not options.all:
        fail("No target jobs were provided")
    with BrokerClient() as client:
        return _cancel_all(client, options) if options.all else _cancel_ids(client, options)


def _cancel_ids(client: BrokerClient, options: argparse.Namespace) -> int:
    if options.dry_run:
        note(f"flux-cancel: Would cancel {_counted(len(options.jobids))}")
        return 0
    code = 0
    for number in options.jobids:
        payload = {"id": number, "severity": 0, "type": "cancel", "note": options.message}
        try:
            client.rpc("job-manager.raise", payload)
        except RpcError as error:
            note(f"flux-cancel: ERROR: {jobid.f58(number)}: {error}")
            code = 1
    return code


def _cancel_all(client: BrokerClient, options: argparse.Namespace) -> int:
    payload = {"dry_run": options.dry_run, "userid": os.getuid(), "states": _CANCELABLE}
    payload |= {"severity": 0, "type": "cancel", "note": options.message}
    count = client.rpc("job-manager.raiseall", payload)["count"]
    if count:
        verb, errors = ("Would cancel", "") if options.dry_run else ("Canceled", " (0 errors)")
        note(f"flux-cancel: {verb} {_counted(count)}{errors}")
    elif not options.quiet:
        note("flux-cancel: Matched 0 jobs")
    return 0


def _counted(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"
