"""Asks the real PAM about accounts, as a program in a mount namespace of its own; prints its answers.

    python -m tests.restful.identity.pam_program FOLDER

The files of FOLDER are there in place of the machine's: the service `minicluster`, and accounts of a test.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from restful.identity import pam

PASSWORD = "a real account's words"
SERVICE = "auth required pam_unix.so nodelay\naccount required pam_unix.so\n"
OUTSIDE = ("root", "nobody-is-called-so")
DAYS = {"pam-good": "", "pam-expired": "1", "pam-locked": ""}
"""By account: since when it has expired, in days since 1970."""
LOCKS = {"pam-good": "", "pam-expired": "", "pam-locked": "!"}
"""By account: what is before its hash."""
ASKED = (
    ("pam-good", PASSWORD), ("pam-good", "wrong"), ("pam-good", ""), ("pam-expired", PASSWORD),
    ("pam-locked", PASSWORD), *((name, PASSWORD) for name in OUTSIDE),
)  # fmt: skip


def write(folder: Path, hashed: str) -> None:
    """Write the files: three accounts with one password, of which two may not log in."""
    (folder / "pam.d").mkdir()
    (folder / "pam.d" / pam.SERVICE).write_text(SERVICE)
    (folder / "pam.d" / "other").write_text("auth required pam_deny.so\naccount required pam_deny.so\n")
    users = [f"{name}:x:{7000 + number}:7000::/:/bin/false" for number, name in enumerate(DAYS)]
    (folder / "passwd").write_text("\n".join(["root:x:0:0::/root:/bin/sh", *users, ""]))
    shadows = [f"{name}:{LOCKS[name]}{hashed}:19000:::::{day}:" for name, day in DAYS.items()]
    (folder / "shadow").write_text("\n".join(["root:*:19000::::::", *shadows, ""]))
    (folder / "shadow").chmod(0o600)


def mount(folder: Path) -> None:
    """Put the files in place of the machine's, which the namespace alone sees."""
    for name in ("pam.d", "passwd", "shadow"):
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"], check=True)


async def answers() -> list[bool]:
    """Return what PAM answers about each."""
    asked = pam.authenticator()
    return [await asked.authenticate(*each) for each in ASKED]


if __name__ == "__main__":
    mount(Path(sys.argv[1]))
    print(json.dumps(asyncio.run(answers())))
