"""What brokers that this command starts inherit of its environment: what programs need to run, and no secret.

A job has an environment of its own. But on one machine it runs as the account of its broker, and reads in
/proc what that was started with.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

NAMES = frozenset(
    {"CI", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ"}
    | {"USER", "VIRTUAL_ENV", "MINICLUSTER_RUNTIME_DIR"}
)
PREFIXES = ("LC_", "LD_", "PYTHON", "XDG_")


@contextlib.contextmanager
def without_secrets(environ: MutableMapping[str, str]) -> Iterator[None]:
    """Take everything else out of an environment for a block."""
    others = [name for name in environ if name not in NAMES and not name.startswith(PREFIXES)]
    taken = {name: environ.pop(name) for name in others}
    try:
        yield
    finally:
        environ.update(taken)
