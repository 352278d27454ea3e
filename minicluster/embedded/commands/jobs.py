"""`flux jobs`."""

from __future__ import annotations

import json
import os
import pwd
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.job_states import JobResult, JobState
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import job_record, named_formats
from minicluster.embedded.commands.console import Parser, fail, job_argument, note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_FORMATS = {
    "default": "{id.f58:>12} ?:{queue:<8.8} +:{username:<8} {name:<10.10+} {status_abbrev:>2.2} "
    "{ntasks:>6} {nnodes:>6h} {contextual_time!F:>8h} {contextual_info}"
}
_MASKS = {name.lower(): int(state) for name, state in JobState.__members__.items() if name != "NEW"}
_RESULTS = {name.lower(): int(result) for name, result in JobResult.__members__.items()}


def main(argv: list[str]) -> int:
    """Run `flux jobs`."""
    options = _parser().parse_args(argv[1:])
    with BrokerClient() as client:
        return _listed(client, options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-jobs")
    named_formats.add_options(parser)
    text = parser.add_argument
    text("jobids", metavar="JOBID", type=job_argument, nargs="*", help="only these jobs")
    text("-c", "--count", type=int, default=1000, metavar="N", help="at most N jobs (default 1000)")
    text("-f", "--filter", metavar="STATE|RESULT,...", help="jobs in these states")
    text("-u", "--user", metavar="USERNAME|UID", help="jobs of this user, or all")
    text("--name", metavar="JOB-NAME", help="jobs of this name")
    text("-q", "--queue", metavar="QUEUE,...", help="jobs of these queues")
    parser.flag("-a", "--all", help="jobs in all states")
    parser.flag("-A", "--everyone", help="jobs of all users")
    parser.flag("--json", help="print JSON")
    return parser


def _listed(client: BrokerClient, options: argparse.Namespace) -> int:
    wrong = "Error in user format: {}"
    layout = named_formats.chosen(options, _FORMATS, job_record.HEADINGS, job_record.value, wrong)
    jobs, code = _by_id(client, options.jobids) if options.jobids else (_matching(client, options), 0)
    if options.json:
        exported = [job_record.exported(job) for job in jobs]
        print(json.dumps(exported[0] if len(options.jobids) == 1 and exported else {"jobs": exported}))
    elif jobs or not options.jobids:
        named_formats.show(layout, jobs, options)
    return code


def _matching(client: BrokerClient, options: argparse.Namespace) -> list[JSON]:
    most = options.count + 1 if options.count else 0  # one more than shown: then there are more
    payload = {"max_entries": most, "attrs": ["all"], "constraint": _constraint(options)}
    jobs: list[JSON] = [job for answer in client.stream("job-list.list", payload) for job in answer["jobs"]]
    if options.count and len(jobs) > options.count:
        jobs.pop()
        if not options.no_header:
            note(f"warning: output truncated at {options.count} jobs.")
            note("Use --count to increase returned results or use filters to alter results.")
    return jobs


def _by_id(client: BrokerClient, numbers: Sequence[int]) -> tuple[list[JSON], int]:
    jobs, code = [], 0
    for number in numbers:
        try:
            jobs.append(client.rpc("job-list.list-id", {"id": number, "attrs": ["all"]})["job"])
        except RpcError as error:
            note(f"JobID {jobid.f58(number)} unknown" if error.errnum == 2 else str(error))
            code = 1
    return jobs, code


def _constraint(options: argparse.Namespace) -> JSON:
    terms = [_states(options)]
    if not options.everyone and options.user != "all":
        terms.append({"userid": [_userid(options.user)]})
    if options.name:
        terms.append({"name": [options.name]})
    if options.queue:
        terms.append({"queue": options.queue.split(",")})
    return {"and": terms}


def _userid(name: str | None) -> int:
    if name is None:
        return os.getuid()
    try:
        return int(name) if name.isdigit() else pwd.getpwnam(name).pw_uid
    except KeyError:
        fail(f"Invalid user {name} specified")


def _states(options: argparse.Namespace) -> JSON:
    words = [word.lower() for word in (options.filter or "").split(",") if word]
    if not words:
        words = ["active", "inactive"] if options.all else ["active"]
    states = results = 0
    for word in words:
        if word not in _MASKS and word not in _RESULTS:
            fail(f"Invalid filter specified: {word}")
        states |= _MASKS.get(word, 0)
        results |= _RESULTS.get(word, 0)
    return {"or": [{"states": [states]}, {"results": [results]}]}
