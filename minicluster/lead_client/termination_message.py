"""Parses the termination message of a broker's pod: what was saved, or why it could not start. Pure.

A lead is run by its users. So a message is checked, and counts for its own MiniCluster only.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from minicluster.document.scalars import MAX_INT32
from minicluster.document.status import MAX_BYTES
from minicluster.plan import Dump

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Pairs

MAX_JOBS = 64
"""Jobs that are read, the first ones."""
MAX_TEXT_LENGTH = 200
"""Characters of a text that are kept."""

_JOB_ID = re.compile("f[1-9A-HJ-NP-Za-km-z]{1,12}")


def dump(ended: Object) -> Dump | None:
    """Return the dump that a container's `terminated` state reports; None where it reports none."""
    message, at = _message(ended), ended.get("finishedAt")
    if not at or not isinstance(message.get("saved"), str):
        return None
    restarted, lost = restarts(message.get("restarted")), losses(message.get("lost"))
    return Dump(
        time=datetime.fromisoformat(at),
        path=shown(message["saved"]),
        bytes=_count(message.get("bytes"), MAX_BYTES),
        jobs=_count(message.get("jobs"), MAX_INT32),
        restarted=restarted,
        lost=lost,
        restarted_total=max(_count(message.get("restarted_total"), MAX_INT32), len(restarted)),
        lost_total=max(_count(message.get("lost_total"), MAX_INT32), len(lost)),
    )


def refusal(ended: Object) -> str:
    """Return why a broker could not start, such as an archive that it cannot read; empty where it could."""
    found = _message(ended).get("error")
    return shown(found) if isinstance(found, str) else ""


def restarts(found: Any) -> Pairs:
    """Return pairs of job ids, old and new; what has another form is left out."""
    return tuple((job_id(old), job_id(new)) for old, new in _pairs(found))


def losses(found: Any) -> Pairs:
    """Return job ids, each with a reason; what has another form is left out."""
    return tuple((job_id(job), shown(why)) for job, why in _pairs(found))


def shown(text: str) -> str:
    """Return a lead's text as one line without control characters, cut to MAX_TEXT_LENGTH characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:MAX_TEXT_LENGTH])


def job_id(text: str) -> str:
    """Return a job's id (RFC 19) with the `ƒ` that Flux shows; leads send it with a plain `f`."""
    return f"ƒ{text[1:]}" if _JOB_ID.fullmatch(text) else shown(text)


def _pairs(found: Any) -> list[list[str]]:
    return [each for each in found[:MAX_JOBS] if _is_pair(each)] if isinstance(found, list) else []


def _message(ended: Object) -> Object:
    text = (ended.get("message") or "").strip()
    if not text.startswith("{"):
        return {}
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _is_pair(found: Any) -> bool:
    return isinstance(found, list) and len(found) == 2 and all(isinstance(each, str) for each in found)


def _count(found: Any, most: int) -> int:
    return min(max(found, 0), most) if isinstance(found, int) and not isinstance(found, bool) else 0
