"""Which accounts of this machine may log in by PAM: people's, unless others are named.

root is never asked about, so that nobody guesses its password here. Neither are accounts of programs, nor the
one of this service: its files are the database and the master key.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
from dataclasses import dataclass, field

FIRST_UID = 1000
"""Below it are the accounts of programs (`UID_MIN` of login.defs(5))."""
NOBODY = 65_534
GROUP = "@"
"""What is before the name of a group, as in sudoers and sshd's patterns of others."""
_ALLOWED = re.compile(r"@?[A-Za-z_][A-Za-z0-9_.@\\-]*")


def is_allowance(text: str) -> bool:
    """Return whether a text names an account, or a group as @GROUP."""
    return _ALLOWED.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class PamAccounts:
    """Decides by name, user id and groups. It blocks: they may be in a directory elsewhere."""

    allowed: tuple[str, ...] = ()
    """Names, and groups as @GROUP: these alone. None: all accounts of people but this service's."""
    own: int = field(default_factory=os.geteuid)
    """The user id of this service."""

    def admits(self, name: str) -> bool:
        """Return whether an account may log in, if its password is right."""
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            return False
        if account.pw_uid == 0:
            return False
        if name in self.allowed:
            return True
        if account.pw_uid < FIRST_UID or account.pw_uid in {NOBODY, self.own}:
            return False
        return not self.allowed or self._is_in_group(account)

    def _is_in_group(self, account: pwd.struct_passwd) -> bool:
        wanted = set()
        for each in self.allowed:
            if each.startswith(GROUP):
                try:
                    wanted.add(grp.getgrnam(each.removeprefix(GROUP)).gr_gid)
                except KeyError:
                    continue  # one that is made later counts from then on
        return not wanted.isdisjoint(os.getgrouplist(account.pw_name, account.pw_gid))
