"""`flux cancel`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.embedded.client import Client, RpcError
from minicluster.embedded.commands.console import Parser, fail, job_argument, note

if TYPE_CHECKING:
    import argparse

from minicluster.embedded import jobid

_STATES = {
    "depend": 2, "priority": 4, "sched": 8, "run": 16, "pending": 14, "running": 16, "active": 30,
}  # fmt: skip


def main(argv: list[str]) -> int:
    """Run `flux cancel`."""
    parser = Parser("flux cancel", usage="flux cancel [OPTIONS] [JOBID...]")
    parser.add_argument("jobids", metavar="JOBID...", type=job_argument, nargs="*", help="jobs to cancel")
    parser.add_argument("--all", action="store_true", help="all jobs")
    parser.add_argument("-n", "--dry-run", action="store_true", help="cancel nothing")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when no job matches")
    parser.add_argument("-u", "--user", help="jobs of this user, or all")
    parser.add_argument("-S", "--states", default=None, help="jobs in these states (default active)")
    parser.add_argument("-m", "--message", metavar="NOTE", default="", help="note of the exception")
    options = parser.parse_args(argv[1:])
    with Client() as client:
        if options.jobids and not (options.all or options.states):
            return _cancel_ids(client, options)
        if options.jobids:
            fail("Do not specify job ids with --all or --states")
        if not (options.all or options.states or options.user):
            fail("No target jobs were provided")
        return _cancel_matching(client, options)


def _cancel_ids(client: Client, options: argparse.Namespace) -> int:
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


def _cancel_matching(client: Client, options: argparse.Namespace) -> int:
    payload = {
        "dry_run": options.dry_run,
        "userid": os.getuid(),
        "states": _mask(options.states or "active"),
        "severity": 0,
        "type": "cancel",
        "note": options.message,
    }
    try:
        answer = client.rpc("job-manager.raiseall", payload)
    except RpcError as error:
        fail(str(error))
    count, errors = answer["count"], answer["errors"]
    if not count and not options.quiet:
        note("flux-cancel: Matched 0 jobs")
    elif count and options.dry_run:
        note(f"flux-cancel: Would cancel {_counted(count)}")
    elif count:
        note(f"flux-cancel: Canceled {_counted(count)} ({errors} error{'' if errors == 1 else 's'})")
    return 1 if errors else 0


def _counted(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def _mask(words: str) -> int:
    mask = 0
    for word in words.lower().split(","):
        if word not in _STATES:
            fail(f"Invalid state {word} specified")
        mask |= _STATES[word]
    return mask
