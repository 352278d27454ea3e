"""`flux update`: change a job's queue or time limit."""

from __future__ import annotations

import json
import time
from typing import Any

from broker_config.formats import durations, eventlog, jobid, jobspec
from minicluster.embedded.client import JSON, BrokerClient
from minicluster.embedded.commands.console import Parser, fail, job_argument, note

_NAMES = {"name": "attributes.system.job.name"}
_DURATION = "attributes.system.duration"


def main(argv: list[str]) -> int:
    """Run `flux update`."""
    parser = Parser("flux-update")
    parser.flag("-n", "--dry-run", help="print the updates, change nothing")
    parser.flag("-v", "--verbose", help="say what was changed")
    parser.flag("--wait", help="wait until the job's eventlog has the updates")
    parser.add_argument("jobid", metavar="JOBID", type=job_argument, help="job to change")
    parser.add_argument("updates", metavar="KEY=VALUE", nargs="+", help="queue=NAME, duration=[+|-]FSD")
    options = parser.parse_args(argv[1:])
    since = time.time()
    with BrokerClient() as client:
        updates = dict(_update(client, options.jobid, each) for each in options.updates)
        if options.dry_run:
            print(json.dumps(updates))
            return 0
        client.rpc("job-manager.update", {"id": options.jobid, "updates": updates})
        if options.wait:
            _wait(client, options.jobid, updates, since)
    for path, value in updates.items() if options.verbose else ():
        note(f"flux-update: INFO: updated {path} to {value}")
    return 0


def _update(client: BrokerClient, job: int, text: str) -> tuple[str, Any]:
    """Return path and new value of KEY=VALUE; a key without a section of the jobspec is one of the system."""
    key, _, value = text.partition("=")
    path = _NAMES.get(key, key)
    if not path.startswith(("attributes.", "resources.", "tasks.")):
        path = f"attributes.system.{path}"
    if path == _DURATION:
        return path, _duration(client, job, value)
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value


def _duration(client: BrokerClient, job: int, text: str) -> float:
    """Return a time limit in seconds, 0 for none; behind `+` or `-` it changes the one that the job has."""
    if not text.startswith(("+", "-")):
        return _seconds(text)
    spec = client.rpc("job-info.lookup", {"id": job, "keys": ["jobspec"], "flags": 1})["jobspec"]
    now = jobspec.seconds(jobspec.system_of(spec).get("duration"))
    if not now:
        fail(f"duration for {jobid.f58(job)} is unlimited, can't update by {text}")
    change = _seconds(text[1:])
    if text.startswith("+"):
        return now + change
    if change >= now:
        shown = durations.encode(now)
        fail(f"current duration for {jobid.f58(job)} ({shown}) cannot be reduced by {text[1:]}")
    return now - change


def _seconds(text: str) -> float:
    if text in ("inf", "infinity"):
        return 0.0
    try:
        return durations.seconds(text)
    except ValueError as error:
        fail(str(error))


def _wait(client: BrokerClient, job: int, updates: JSON, since: float) -> None:
    for item in client.stream("job-info.eventlog-watch", {"id": job, "path": "eventlog", "flags": 0}):
        event = eventlog.decode(item["event"])
        updated = event["name"] == "jobspec-update" and event["timestamp"] > since
        if updated and updates.items() <= eventlog.context(event).items():
            return
