"""`flux jobs`."""

from __future__ import annotations

import json
import os
import pwd
import sys
from typing import TYPE_CHECKING

from minicluster.embedded import jobid
from minicluster.embedded.client import JSON, Client, RpcError
from minicluster.embedded.commands import job_record
from minicluster.embedded.commands.console import Parser, fail, job_argument, note
from minicluster.embedded.commands.named_formats import chosen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_ID, _NAME = "{id.f58:>12} ?:{queue:<8.8} ", "{name:<10.10+} "
_START = _ID + "+:{username:<8} " + _NAME
_COUNTS = "{ntasks:>6} {nnodes:>6h} "
_TAIL = "{contextual_time!F:>8h} {contextual_info}"
FORMATS = {
    "default": ("Default flux-jobs format string", _START + "{status_abbrev:>2.2} " + _COUNTS + _TAIL),
    "cute": ("Cute flux-jobs format string (default with emojis)",
             _START + "{status_emoji:>5.5} " + _COUNTS + _TAIL),
    "long": ("Extended flux-jobs format string",
             _START + "{status:>9.9} " + _COUNTS + "{t_submit!d:%b%d %R::>12} {t_remaining!F:>12h} " + _TAIL),
    "deps": ("Show job urgency, priority, and dependencies",
             _ID + _NAME + "{urgency:<3} {priority:<12} {state:<8.8} {dependencies}"),
    "endreason": ("Show why each job ended",
                  _START + "{status_abbrev:>2.2} {t_inactive!d:%b%d %R::>12h} {inactive_reason}"),
}  # fmt: skip
_MASKS = {name.lower(): mask for mask, name in job_record.STATES.items() if mask > 1}
_MASKS |= {"pending": 14, "running": 48, "active": 62}
_RESULTS = {name.lower(): mask for mask, name in job_record.RESULTS.items()}


def main(argv: list[str]) -> int:
    """Run `flux jobs`."""
    options = _parser().parse_args(argv[1:])
    try:
        with Client() as client:
            return _listed(client, options)
    except RpcError as error:
        fail(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = Parser("flux-jobs")
    text, flag = parser.add_argument, {"action": "store_true"}
    text("jobids", metavar="JOBID", type=job_argument, nargs="*", help="only these jobs")
    text("-a", dest="all", help="jobs in all states", **flag)  # type: ignore[arg-type]
    text("-A", dest="everyone", help="jobs of all users", **flag)  # type: ignore[arg-type]
    text("-c", "--count", type=int, default=1000, metavar="N", help="at most N jobs (default 1000)")
    text("-f", "--filter", action="append", default=[], metavar="STATE|RESULT", help="jobs in this state")
    text("-n", "--no-header", help="no header line", **flag)  # type: ignore[arg-type]
    text("-u", "--user", metavar="USERNAME|UID", help="jobs of this user, or all")
    text("--name", metavar="JOB-NAME", help="jobs of this name")
    text("-q", "--queue", action="append", default=[], metavar="QUEUE,...", help="jobs of these queues")
    text("-o", "--format", default="default", metavar="FORMAT", help="format string or name; help lists them")
    text("--sort", metavar="KEY,...", help="order")
    text("--json", help="print JSON", **flag)  # type: ignore[arg-type]
    text("--stats", help="statistics before the list", **flag)  # type: ignore[arg-type]
    text("--stats-only", help="statistics only; fails when no job is active", **flag)  # type: ignore[arg-type]
    return parser


def _listed(client: Client, options: argparse.Namespace) -> int:
    if options.json and (options.stats or options.stats_only):
        fail("--json is incompatible with --stats and --stats-only")
    if options.stats or options.stats_only:
        active = _print_stats(client, options)
        if options.stats_only:
            return 0 if active else 1
    form = chosen("jobs", options.format, FORMATS, job_record.HEADINGS, job_record.value, options.sort)
    if form is None:
        return 0
    attrs = ["all"] if options.json else job_record.attributes([*form.names, "status"])
    jobs, code = _fetched(client, options, attrs)
    jobs = form.sorted(jobs)
    if options.json:
        _print_json(jobs, options)
        return code
    sys.stdout.write("".join(line + "\n" for line in form.table(jobs, header=not options.no_header)))
    return code


def _print_json(jobs: Sequence[JSON], options: argparse.Namespace) -> None:
    exported = [job_record.exported(job) for job in jobs]
    if len(options.jobids) != 1:
        print(json.dumps({"jobs": exported}))
    elif exported:
        print(json.dumps(exported[0]))


def _fetched(client: Client, options: argparse.Namespace, attrs: list[str]) -> tuple[list[JSON], int]:
    if options.jobids:
        return _by_id(client, options.jobids, attrs)
    payload = {"max_entries": options.count, "attrs": attrs, "since": 0.0}
    payload["constraint"] = _constraint(options)
    jobs: list[JSON] = [job for answer in client.stream("job-list.list", payload) for job in answer["jobs"]]
    if options.count and len(jobs) >= options.count:
        note(f"warning: output truncated at {options.count} jobs.")
        note("Use --count to increase returned results or use filters to alter results.")
    return jobs, 0


def _by_id(client: Client, numbers: Sequence[int], attrs: list[str]) -> tuple[list[JSON], int]:
    jobs, code = [], 0
    for number in numbers:
        try:
            jobs.append(client.rpc("job-list.list-id", {"id": number, "attrs": attrs})["job"])
        except RpcError as error:
            note(f"JobID {jobid.f58(number)} unknown" if error.errnum == 2 else str(error))
            code = 1
    return jobs, code


def _constraint(options: argparse.Namespace) -> JSON:
    terms: list[JSON] = []
    if not options.everyone and options.user != "all":
        terms.append({"userid": [_userid(options.user)]})
    if options.name:
        terms.append({"name": [options.name]})
    if options.queue:
        terms.append({"queue": ",".join(options.queue).split(",")})
    terms.append(_states(options))
    return {"and": terms}


def _userid(name: str | None) -> int:
    if name is None:
        return os.getuid()
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        if name.isdigit():
            return int(name)
        fail(f"Invalid user {name} specified")


def _states(options: argparse.Namespace) -> JSON:
    words = [word.lower() for word in ",".join(options.filter).split(",") if word]
    if not words:
        words = ["active", "inactive"] if options.all else ["active"]
    states = results = 0
    for word in words:
        if word not in _MASKS and word not in _RESULTS:
            fail(f"Invalid filter specified: {word}")
        states |= _MASKS.get(word, 0)
        results |= _RESULTS.get(word, 0)
    terms = [{"states": [states]}] if states else []
    terms += [{"results": [results]}] if results else []
    return terms[0] if len(terms) == 1 else {"or": terms}


def _print_stats(client: Client, options: argparse.Namespace) -> int:
    """One line of statistics; returns the number of active jobs."""
    answer = client.rpc("job-list.job-stats")
    queues = ",".join(options.queue).split(",") if options.queue else []
    parts = [queue for queue in answer["queues"] if queue["name"] in queues] if queues else [answer]
    states = {name: sum(part["job_states"][name] for part in parts) for name in answer["job_states"]}
    total = {
        name: sum(part[name] for part in parts) for name in ("successful", "failed", "canceled", "timeout")
    }
    purged = sum(part["inactive_purged"] for part in parts)
    pending = states["depend"] + states["priority"] + states["sched"]
    running = states["run"] + states["cleanup"]
    failed = total["failed"] + total["canceled"] + total["timeout"]
    print(
        f"{running} running, {total['successful']} completed, {failed} failed, "
        f"{pending} pending, {purged} inactive purged"
    )
    return int(pending + running)
