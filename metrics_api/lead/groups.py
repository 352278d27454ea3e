"""The primary group of a job's user."""

from __future__ import annotations

import grp
import pwd
from functools import lru_cache


@lru_cache(maxsize=1000)
def group_of(userid: int) -> str:
    """Return the name of a user's primary group; for an unknown user or group the number."""
    try:
        number = pwd.getpwuid(userid).pw_gid
    except (KeyError, OverflowError):
        return str(userid)
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
