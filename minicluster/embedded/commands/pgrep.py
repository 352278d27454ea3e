"""`flux pgrep` and `flux pkill`: find or cancel jobs by their names, or by a range of ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.job_states import JobState
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import job_record, job_selection, named_formats
from minicluster.embedded.commands.console import Parser, fail, note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_FORMATS = {"default": "{id.f58}", "full": job_record.FORMATS["default"]}
_FORMATS |= {name: job_record.FORMATS[name] for name in ("long", "deps")}


def main(argv: list[str]) -> int:
    """Run `flux pgrep` or `flux pkill`."""
    options = _parser(argv[0]).parse_args(argv[1:])
    layout = job_record.layout(options, _FORMATS) if argv[0] == "pgrep" else None
    wanted = _Expression(options.expression)
    states = job_selection.words(options.filter or ())
    if getattr(options, "all", False):
        states += ["active", "inactive"]
    user = "all" if options.everyone else options.user
    queues = job_selection.words(options.queue)
    constraint = job_selection.constraint(states or ["active"], user, (), queues)
    with BrokerClient() as client:
        searched = job_selection.matching(client, constraint, options.max_entries)
        jobs = [job for job in searched if wanted.matches(job)][: options.count]
        if not jobs:
            return 1
        if layout is None:
            return _kill(client, options, jobs)
    options.no_header = options.no_header or options.format == "default"
    named_formats.show(layout, jobs, options)
    return 0


def _parser(command: str) -> Parser:
    parser = Parser(f"flux-{command}")
    text = parser.add_argument
    text("expression", metavar="EXPRESSION", nargs="+", help="part of a name (name:REGEX), or JOBID..JOBID")
    parser.flag("-A", dest="everyone", help="jobs of all users")
    text("-u", "--user", metavar="USERNAME|UID", default="", help="jobs of this user, or all")
    text("-f", "--filter", metavar="STATE|RESULT,...", action="append", help="jobs in these states")
    text("-q", "--queue", metavar="QUEUE,...", action="append", default=[], help="jobs of these queues")
    text("-c", "--count", type=int, default=99999, metavar="N", help="the first N that match")
    text("--max-entries", type=int, default=1000, metavar="N", help="search N jobs (default 1000)")
    if command == "pkill":
        parser.flag("--wait", help="wait until the canceled jobs have ended")
    else:
        named_formats.add_options(parser)
        parser.flag("-a", dest="all", help="jobs in all states")
    return parser


class _Expression:
    """A regular expression for names, a range of ids, or both."""

    def __init__(self, words: Sequence[str]) -> None:
        self._ids: range | None = None
        self._name: re.Pattern[str] | None = None
        for word in words:
            self._ids = self._ids or _range(word)
            if self._ids is None or ".." not in word:
                self._set_name(word.removeprefix("name:"))

    def _set_name(self, text: str) -> None:
        if self._name is not None:
            fail("expression error: Only one pattern can be provided", 2)
        try:
            self._name = re.compile(text)
        except re.error as error:
            fail(f"expression error: {error}", 2)

    def matches(self, job: JSON) -> bool:
        """Whether a job is meant."""
        if self._name is not None and not self._name.search(job.get("name", "")):
            return False
        return self._ids is None or job["id"] in self._ids


def _range(word: str) -> range | None:
    first, dots, last = word.partition("..")
    try:
        return range(jobid.parse(first), jobid.parse(last) + 1) if dots and ":" not in word else None
    except ValueError:
        return None


def _kill(client: BrokerClient, options: argparse.Namespace, jobs: Sequence[JSON]) -> int:
    canceled = 0
    for job in jobs:
        try:
            client.rpc("job-manager.raise", {"id": job["id"], "severity": 0, "type": "cancel", "note": ""})
        except RpcError as error:
            note(f"flux-pkill: ERROR: {jobid.f58(job['id'])}: cancel: [Errno {error.errnum}] {error}")
            continue
        canceled += 1
        if options.wait:
            client.rpc("job-list.list-id", {"id": job["id"], "state": int(JobState.INACTIVE), "attrs": []})
    note(f"flux-pkill: INFO: Canceled {canceled} job{'' if canceled == 1 else 's'}")
    return 0 if canceled == len(jobs) else 1
