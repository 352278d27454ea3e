"""`flux jobs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from broker_config.formats.job_states import PENDING_STATES, RUNNING_STATES
from minicluster.embedded.client import JSON, BrokerClient
from minicluster.embedded.commands import job_record, job_selection, named_formats
from minicluster.embedded.commands.console import Parser, fail, job_argument, note

if TYPE_CHECKING:
    import argparse

    from minicluster.embedded.formats import OutputFormat

_FILTERS = "all everyone filter count since user name queue"


def main(argv: list[str]) -> int:
    """Run `flux jobs`."""
    parser = _parser()
    options = parser.parse_args(argv[1:])
    if options.json and (options.stats or options.stats_only):
        fail("--json incompatible with --stats or --stats-only")
    if options.jobids and job_selection.filtered(options, parser, _FILTERS):
        note("flux-jobs: WARNING: Filtering options ignored with jobid list")
    options.queue = job_selection.words(options.queue)
    layout = job_record.layout(options, job_record.FORMATS)
    with BrokerClient() as client:
        if options.stats or options.stats_only:
            active = _print_stats(client, options.queue)
            if options.stats_only:
                return 0 if active else 1
        return _listed(client, options, layout)


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-jobs")
    named_formats.add_options(parser)
    text = parser.add_argument
    text("jobids", metavar="JOBID", type=job_argument, nargs="*", help="only these jobs")
    text("-c", "--count", type=int, default=1000, metavar="N", help="at most N jobs (default 1000)")
    text("-f", "--filter", metavar="STATE|RESULT,...", action="append", help="jobs in these states")
    text("--since", metavar="WHEN", default="", help="with jobs that ended since WHEN, such as -1h")
    text("-u", "--user", metavar="USERNAME|UID", default="", help="jobs of this user, or all")
    text("--name", metavar="JOB-NAME", help="jobs of this name")
    text("-q", "--queue", metavar="QUEUE,...", action="append", default=[], help="jobs of these queues")
    parser.flag("-a", "--all", help="jobs in all states")
    parser.flag("-A", "--everyone", help="jobs of all users")
    parser.flag("--json", help="print JSON")
    parser.flag("--stats", help="print the numbers of jobs before the list")
    parser.flag("--stats-only", help="print these alone; end with 1 where no job is active")
    return parser


def _print_stats(client: BrokerClient, queues: list[str]) -> int:
    """Print how many jobs there are, and return how many are active."""
    answer = client.rpc("job-list.job-stats")
    by_queue = {counts["name"]: counts for counts in answer["queues"]}
    for name in queues:
        if name not in by_queue:
            fail(f"error retrieving job stats: no stats available for queue {name}")
    chosen = [by_queue[name] for name in queues] or [answer]
    running, pending = (
        sum(counts["job_states"][state] for counts in chosen for state in states)
        for states in (RUNNING_STATES, PENDING_STATES)
    )
    completed = sum(counts["successful"] for counts in chosen)
    failed = sum(counts[name] for counts in chosen for name in ("failed", "timeout", "canceled"))
    purged = answer["inactive_purged"]
    print(
        f"{running} running, {completed} completed, {failed} failed, {pending} pending, "
        f"{purged} inactive purged"
    )
    return int(running + pending)


def _listed(client: BrokerClient, options: argparse.Namespace, layout: OutputFormat) -> int:
    jobs, wrong = (
        job_selection.by_id(client, options.jobids) if options.jobids else (_matching(client, options), [])
    )
    for text in wrong:
        note(text)
    if options.json:
        exported = [job_record.exported(job) for job in jobs]
        print(json.dumps(exported[0] if len(options.jobids) == 1 and exported else {"jobs": exported}))
    elif jobs or not options.jobids:
        named_formats.show(layout, jobs, options)
    return 1 if wrong else 0


def _matching(client: BrokerClient, options: argparse.Namespace) -> list[JSON]:
    constraint = job_selection.constraint(
        _states(options),
        "all" if options.everyone else options.user,
        [options.name] if options.name else [],
        options.queue,
    )
    most = options.count + 1 if options.count else 0  # one more than shown: then there are more
    jobs = job_selection.matching(client, constraint, most, job_selection.past(options.since))
    if options.count and len(jobs) > options.count:
        jobs.pop()
        if not options.no_header:
            note(f"warning: output truncated at {options.count} jobs.")
            note("Use --count to increase returned results or use filters to alter results.")
    return jobs


def _states(options: argparse.Namespace) -> list[str]:
    """Return the states to list; --since means jobs in all states, unless there is a filter."""
    words = job_selection.words(options.filter or ())
    if words and options.all:
        note("flux-jobs: WARNING: Both -a and --filter specified, ignoring -a")
    return words or (["active", "inactive"] if options.all or options.since else ["active"])
