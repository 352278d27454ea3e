"""Parses the reports of a lead broker into the records that `plan()` reads. Pure.

A lead is run by its users. So a report is checked, and counts for its own MiniCluster only.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

from broker_config.formats.drain_reasons import SHRINKING
from minicluster.lead_client.errors import LeadError
from minicluster.lead_client.termination_message import job_id, losses, restarts, shown
from minicluster.plan import BrokerReport, LeadCommand, LeadVersions, RestartReport, SaveProgress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.plan.objects.fields import Object

MAX_HOSTS = 100_000
DIGITS = len(str(MAX_HOSTS))
MAX_TEXTS = 8
PHASES: tuple[Literal["waiting", "writing", "failed"], ...] = ("waiting", "writing", "failed")

_RANGE = re.compile(r"(0|[1-9][0-9]*)(?:-([1-9][0-9]*))?")


def parse(line: bytes, pods: int) -> BrokerReport:
    """Return the report in a line of a lead, whose MiniCluster has at most so many pods.

    A lead may know more hosts (`flux.bursting`): their ranks are checked, and left out. Raises LeadError with
    what is wrong in the line.
    """
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        raise _senseless("no JSON") from None
    if not isinstance(body, dict):
        raise _senseless("no object")
    hosts = body.get("size")
    if not isinstance(hosts, int) or isinstance(hosts, bool) or not 1 <= hosts <= MAX_HOSTS:
        raise _senseless("size is no number of hosts")
    running = body.get("running")
    if not isinstance(running, bool):
        raise _senseless("running is neither true nor false")
    return BrokerReport(
        online=_encoded(_ranges(body.get("online", ""), "online", hosts), pods),
        drained=_encoded(_ranges(body.get("drained", ""), "drained", hosts), pods),
        shrunk=_encoded(_shrunk(body.get("drains", {}), hosts), pods),
        busy=_encoded(_ranges(body.get("busy", ""), "busy", hosts), pods),
        running=running,
        jobid=_word(body, "jobid"),
        queue_policy=_word(body, "queue_policy"),
        versions=LeadVersions(_word(body, "minicluster"), _word(body, "engine"), _word(body, "version")),
        troubles=_texts(body, "troubles"),
        halted=_texts(body, "halted"),
        saving=_saving(body.get("saving")),
        kept=tuple(_named(each) for each in _texts(body, "kept")),
    )


def restarted(text: str, order: LeadCommand) -> RestartReport:
    """Return the answer to an order to start jobs again elsewhere. Raises LeadError."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise _senseless("no JSON") from None
    if not isinstance(body, dict):
        raise _senseless("no object")
    return RestartReport(order, restarts(body.get("restarted")), losses(body.get("lost")))


def _ranges(text: Any, name: str, hosts: int) -> list[tuple[int, int]]:
    """Return the ranges of an idset (RFC 22).

    They are never expanded: a few characters may stand for any number of ranks. A number with more digits
    than any host's is not converted.
    """
    if not isinstance(text, str):
        raise _senseless(f"{name} is no idset")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    found: list[tuple[int, int]] = []
    for item in text.split(",") if text else ():
        match = _RANGE.fullmatch(item)
        if match is None:
            raise _senseless(f"{name} is no idset")
        beyond = len(match[1]) > DIGITS or len(match[2] or "") > DIGITS
        first, last = (hosts, hosts) if beyond else (int(match[1]), int(match[2] or match[1]))
        if first >= hosts or last >= hosts:
            raise _senseless(f"{name} names ranks beyond its {hosts} hosts")
        if (match[2] and last <= first) or (found and first <= found[-1][1]):
            raise _senseless(f"{name} is no idset")
        found.append((first, last))
    return found


def _encoded(ranges: Iterable[tuple[int, int]], pods: int) -> str:
    """Return ranges as an idset in its usual form, without the ranks that are no pod's."""
    runs: list[list[int]] = []
    for first, last in sorted((first, min(last, pods - 1)) for first, last in ranges if first < pods):
        if runs and first <= runs[-1][1] + 1:
            runs[-1][1] = max(runs[-1][1], last)
        else:
            runs.append([first, last])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _shrunk(drains: Any, hosts: int) -> list[tuple[int, int]]:
    """Return the ranks that were drained by an order of ours; `drains` maps idsets to reasons."""
    if not isinstance(drains, dict) or not all(isinstance(reason, str) for reason in drains.values()):
        raise _senseless("drains are no reasons by idset")
    ours = [ranks for ranks, reason in drains.items() if reason.startswith(SHRINKING)]
    return [each for ranks in ours for each in _ranges(ranks, "drains", hosts)]


def _word(body: Object, name: str) -> str:
    found = body.get(name, "")
    if not isinstance(found, str):
        raise _senseless(f"{name} is no text")
    return shown(found)


def _saving(found: Any) -> SaveProgress | None:
    """Return the progress of a save; None where its phase is not known."""
    if found is None:
        return None
    if not isinstance(found, dict):
        raise _senseless("saving is no object")
    count, phase = found.get("waiting_for"), found.get("phase")
    known = next((each for each in PHASES if each == phase), None)
    if known is None:
        return None
    return SaveProgress(
        phase=known,
        reported_at=_word(found, "since"),
        waiting_for=count if isinstance(count, int) and count > 0 else 0,
        error=_word(found, "error"),
    )


def _named(text: str) -> str:
    """Return a text that begins with a job's id, with that id as Flux shows it."""
    job, colon, why = text.partition(":")
    return f"{job_id(job)}{colon}{why}"


def _texts(body: Object, name: str) -> tuple[str, ...]:
    found = body.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _senseless(f"{name} are no list of texts")
    return tuple(shown(each) for each in found[:MAX_TEXTS])


def _senseless(why: str) -> LeadError:
    return LeadError(f"the lead API says nothing that makes sense: {why}")
