"""Requests of other users over the connection of real Flux's instance owner.

Flux believes its owner about who sent a message ("for owner message router components, where auth is
downstream"), and then answers as to that user. Another user's connection cannot do it: what it sends is its
own. Options of the handle say who sends. They count when a request is sent, so they are set before it and
taken back after it (decision 0054).
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from minicluster.broker_link.errors import InstanceGone, NotAllowed
from minicluster.broker_link.users import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from minicluster.broker_link.link import BrokerLink

ROLE_OWNER, ROLE_USER = 1, 2
_TIMEOUT = 10.0
_SETTINGS = ("allow-guest-user", "private-mode")
"""Of the table `access`: users may connect, and each sees his own jobs alone."""


@contextlib.contextmanager
def sent_by(handle: Any, user: int | None) -> Iterator[None]:
    """Have what the block sends be a user's; None: the connection's own.

    Raises OSError where Flux does not take the options, and InstanceGone where it does not take them back:
    the handle is of no more use then.
    """
    if user is None:
        yield
        return
    try:
        _set(handle, user, ROLE_USER)
        yield
    finally:
        try:
            _set(handle, UNKNOWN, 0)
        except OSError as error:
            raise InstanceGone(f"the connection cannot be its owner's again: {error.strerror}") from error


def _set(handle: Any, userid: int, rolemask: int) -> None:
    for option, value in (("flux::testing_userid", userid), ("flux::testing_rolemask", rolemask)):
        handle.opt_set(option, value.to_bytes(4, sys.byteorder), 4)


def refusal(link: BrokerLink, uid: int) -> str:
    """Return why a link cannot ask for a user; empty: it can, and he sees nothing of others' jobs."""
    asker = link.rpc("broker.ping", {"seq": 0, "pad": ""}, _TIMEOUT)
    if not asker["rolemask"] & ROLE_OWNER:
        return f"this connection is of uid {asker['userid']}, and only the instance's owner asks for others"
    if uid == int(link.rpc("attr.get", {"name": "security.owner"}, _TIMEOUT)["value"]):
        return f"uid {uid} is the instance's owner: the connection itself is his"
    access = link.rpc("config.get", {}, _TIMEOUT).get("access") or {}
    lacking = [f"access.{name} = true" for name in _SETTINGS if access.get(name) is not True]
    if lacking:
        return f"the configuration of the instance lacks {' and '.join(lacking)}"
    try:
        link.rpc("job-list.job-stats", {}, _TIMEOUT, uid)
    except NotAllowed:
        return ""
    return "this Flux shows users all jobs: it knows access.private-mode from 0.88 on"
