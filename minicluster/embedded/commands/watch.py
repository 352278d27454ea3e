"""`flux watch`: show the output of jobs, also of those that have ended, until all of them end."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from minicluster.embedded.client import JSON, BrokerClient
from minicluster.embedded.commands import job_selection
from minicluster.embedded.commands.console import Parser, fail, job_argument, note
from minicluster.embedded.commands.watcher import JobWatcher

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILTERS = "active all filter since count"


def main(argv: list[str]) -> int:
    """Run `flux watch`."""
    parser = _parser()
    options = parser.parse_args(argv[1:])
    if options.jobids and job_selection.filtered(options, parser, _FILTERS):
        note("flux-watch: WARNING: Filtering options ignored with jobid list")
    states = _states(options)
    if not states and not options.jobids:
        fail("At least one job selection option is required\nTry 'flux watch --help' for more information.")
    since = job_selection.past(options.since, 2)
    with BrokerClient() as client:
        return _watched(client, options, _jobs(client, options, states, since))


def _parser() -> Parser:
    parser = Parser("flux-watch")
    text = parser.add_argument
    text("jobids", metavar="JOBID", type=job_argument, nargs="*", help="these jobs")
    text("-c", "--count", type=int, default=0, metavar="N", help="at most N jobs")
    text("-f", "--filter", metavar="STATE|RESULT,...", action="append", help="jobs in these states")
    text("--since", metavar="WHEN", default="", help="jobs, also those that ended since WHEN, such as -1h")
    text("-v", "--verbose", action="count", default=0, help="say how jobs end; twice: print their events")
    parser.flag("-a", "--active", help="all active jobs")
    parser.flag("-A", "--all", help="jobs in all states")
    parser.flag("-l", "--label-io", help="put the job's id and the task's rank before each line")
    return parser


def _states(options: argparse.Namespace) -> list[str]:
    words = job_selection.words(options.filter or ())
    if options.active:
        words.append("active")
    if options.all or (options.since and not words):
        words += ["active", "inactive"]
    return words


def _jobs(
    client: BrokerClient, options: argparse.Namespace, states: Sequence[str], since: float
) -> list[JSON]:
    if not options.jobids:
        constraint = job_selection.constraint(states, "", (), ())
        return job_selection.matching(client, constraint, options.count, since)
    jobs, wrong = job_selection.by_id(client, options.jobids)
    for text in wrong:
        note(f"flux-watch: ERROR: {text}")
    return jobs


def _watched(client: BrokerClient, options: argparse.Namespace, jobs: Sequence[JSON]) -> int:
    """Follow the jobs to their ends; return the largest exit code."""
    if not jobs:
        note("flux-watch: INFO: No matching jobs")
        return 0
    if options.verbose:
        note(f"flux-watch: INFO: Watching {len(jobs)} jobs")
    watching = argparse.Namespace(**vars(options), watch=True, wait_event=None, quiet=False)
    watcher = JobWatcher(client, watching)
    for job in jobs:
        watcher.follow(job["id"])
    while client.outstanding:
        client.dispatch()
    return watcher.code
