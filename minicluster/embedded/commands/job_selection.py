"""Which jobs `flux jobs`, `watch`, `pgrep` and `pkill` are about."""

from __future__ import annotations

import os
import pwd
from datetime import datetime
from typing import TYPE_CHECKING

from broker_config.formats import jobid
from broker_config.formats.job_states import JobResult, JobState
from minicluster.embedded.client import JSON, BrokerClient, RpcError
from minicluster.embedded.commands import datetimes
from minicluster.embedded.commands.console import fail

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

_MASKS = {name.lower(): int(state) for name, state in JobState.__members__.items() if name != "NEW"}
_RESULTS = {name.lower(): int(result) for name, result in JobResult.__members__.items()}


def by_id(client: BrokerClient, numbers: Iterable[int]) -> tuple[list[JSON], list[str]]:
    """Return these jobs with all attributes, and a message for each that there is not."""
    jobs, wrong = [], []
    for number in numbers:
        try:
            jobs.append(client.rpc("job-list.list-id", {"id": number, "attrs": ["all"]})["job"])
        except RpcError as error:
            wrong.append(f"JobID {jobid.f58(number)} unknown" if error.errnum == 2 else str(error))
    return jobs, wrong


def matching(client: BrokerClient, constraint: JSON, count: int, since: float = 0.0) -> list[JSON]:
    """Return the first `count` jobs (0: all) that meet a constraint; inactive ones ended after `since`."""
    payload = {"max_entries": count, "attrs": ["all"], "constraint": constraint, "since": since}
    return [job for answer in client.stream("job-list.list", payload) for job in answer["jobs"]]


def constraint(states: Sequence[str], user: str, names: Sequence[str], queues: Sequence[str]) -> JSON:
    """Return an RFC 31 constraint; empty sequences, and the user `all`, leave a term out."""
    terms = [_states(states)]
    if user != "all":
        terms.append({"userid": [_userid(user)]})
    terms += [{key: list(chosen)} for key, chosen in (("name", names), ("queue", queues)) if chosen]
    return {"and": terms}


def words(given: Sequence[str]) -> list[str]:
    """Split the values of an option that is given several times, or with commas."""
    return [word for text in given for word in text.split(",") if word]


def filtered(options: argparse.Namespace, parser: argparse.ArgumentParser, names: str) -> bool:
    """Whether one of these options is given; a list of job ids overrides them."""
    return any(getattr(options, name) != parser.get_default(name) for name in names.split())


def past(text: str, code: int = 1) -> float:
    """Return the time that `--since` gives, 0 without one; or end the command with `code`."""
    if not text:
        return 0.0
    now = datetime.now().astimezone()
    try:
        since = datetimes.timestamp(text, now)
    except ValueError as error:
        since = _number(text, str(error), code)
    if since > now.timestamp():
        fail(f"--since={text} appears to be in the future", code)
    return since


def _userid(name: str) -> int:
    if not name:
        return os.getuid()
    try:
        return int(name) if name.isdigit() else pwd.getpwnam(name).pw_uid
    except KeyError:
        fail(f"Invalid user {name} specified")


def _states(chosen: Iterable[str]) -> JSON:
    states = results = 0
    for word in map(str.lower, chosen):
        if word not in _MASKS and word not in _RESULTS:
            fail(f"Invalid filter specified: {word}")
        states |= _MASKS.get(word, 0)
        results |= _RESULTS.get(word, 0)
    return {"or": [{"states": [states]}, {"results": [results]}]}


def _number(text: str, wrong: str, code: int) -> float:
    try:
        return float(text)
    except ValueError:
        fail(f"--since: {wrong}", code)
