"""Users other than an instance's owner, for whom the owner's connection may ask."""

from __future__ import annotations

UNKNOWN = 0xFFFFFFFF
"""FLUX_USERID_UNKNOWN: nobody's uid."""
ONE_USER = "this instance runs all jobs as one user, its owner: nothing is asked of it for anybody else"


def uid_problem(uid: object) -> str:
    """Return why something is no uid of a user other than root; empty: it is one."""
    if isinstance(uid, bool) or not isinstance(uid, int):
        return f"{uid!r} is no uid, which is a number"
    if uid == 0:
        return "uid 0 is root's, for whom nothing is asked"
    return "" if 0 < uid < UNKNOWN else f"{uid} is no uid; right would be 1 to {UNKNOWN - 1}"
