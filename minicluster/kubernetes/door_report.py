"""What a lead broker says by its door, as a record that `plan()` decides on. Pure.

A lead is run by its users: what it says is believed of its own MiniCluster only, and checked before that.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from broker_config import idset
from broker_config.errors import IdsetError
from minicluster.kubernetes.errors import DoorError
from minicluster.plan import BrokerReport
from minicluster.plan.shrinking import SHRINKING

if TYPE_CHECKING:
    from minicluster.plan.fields import Object

MAX_HOSTS = 100_000
MAX_TROUBLES = 8
LONGEST = 200
"""Characters of a trouble, or of a word, that are kept."""


def parse(line: bytes) -> BrokerReport:
    """Return what a line says. Raises DoorError, which says what makes no sense."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise _senseless("no JSON") from None
    if not isinstance(said, dict):
        raise _senseless("no object")
    hosts = said.get("size")
    if not isinstance(hosts, int) or isinstance(hosts, bool) or not 1 <= hosts <= MAX_HOSTS:
        raise _senseless("size is no number of hosts")
    running = said.get("running")
    if not isinstance(running, bool):
        raise _senseless("running is neither true nor false")
    return BrokerReport(
        online=_ranks(said, "online", hosts),
        drained=_ranks(said, "drained", hosts),
        shrunk=_shrunk(said.get("drains", {}), hosts),
        busy=_ranks(said, "busy", hosts),
        running=running,
        jobid=_word(said, "jobid"),
        queue_policy=_word(said, "queue_policy"),
        troubles=_troubles(said.get("troubles", [])),
    )


def _ranks(said: Object, name: str, hosts: int) -> str:
    return _checked(said.get(name, ""), name, hosts)


def _checked(text: Any, name: str, hosts: int) -> str:
    """Return an idset in its usual form. A number that is no host's is looked at no further."""
    if not isinstance(text, str):
        raise _senseless(f"{name} is no idset")
    if any(len(digits) > 6 or int(digits) >= hosts for digits in re.findall(r"[0-9]+", text)):
        raise _senseless(f"{name} names ranks beyond its {hosts} hosts")
    try:
        return idset.encode(idset.decode(text))
    except IdsetError:
        raise _senseless(f"{name} is no idset") from None


def _shrunk(drains: Any, hosts: int) -> str:
    """Return the ranks that were drained by an order of ours; `drains` maps idsets to reasons."""
    if not isinstance(drains, dict) or not all(isinstance(reason, str) for reason in drains.values()):
        raise _senseless("drains are no reasons by idset")
    ours = [ranks for ranks, reason in drains.items() if reason.startswith(SHRINKING)]
    return idset.encode(rank for each in ours for rank in idset.decode(_checked(each, "drains", hosts)))


def _word(said: Object, name: str) -> str:
    found = said.get(name, "")
    if not isinstance(found, str):
        raise _senseless(f"{name} is no text")
    return shown(found)


def _troubles(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _senseless("troubles are no list of texts")
    return tuple(shown(each) for each in found[:MAX_TROUBLES])


def shown(text: str) -> str:
    """Return a text of a lead as far as it can be shown: one line, no control characters, not long."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:LONGEST])


def _senseless(why: str) -> DoorError:
    return DoorError(f"the lead's door says nothing that makes sense: {why}")
