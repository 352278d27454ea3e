"""What enforces CPU quotas on a broker's rank: found, and imported, when it is first asked for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.execution.rank.enforcement.enforcer import Enforcer
    from minicluster.embedded.ports import JSON, QuotaEnforcement

_REMOVALS, _REMOVAL_INTERVAL = 20, 0.05
"""How often, and after how many seconds, control groups are removed: killed processes leave them soon."""


@dataclass(slots=True)
class RankEnforcer:
    """The enforcement of one broker."""

    config: JSON
    """broker.toml, parsed."""
    directory: str
    """The broker's run directory: where it is the same, a broker finds what an earlier one has left."""
    rank: int
    unique: str
    """Of this run of the broker."""
    log: Callable[[int, str], None]
    way: str = ""
    """The word for what was found; empty: nothing, or nobody has asked."""
    _found: Enforcer | None = field(default=None)

    def __call__(self) -> Enforcer:
        """Return it. Raises ConfigurationError."""
        from minicluster.embedded.broker import enforcement  # noqa: PLC0415 - where jobs share cores

        if self._found is None:
            self._found = enforcement.found(self.config, self.directory, self.rank, self.unique, self.log)
        return self._found

    def described(self) -> QuotaEnforcement:
        """Return which way holds, and why others do not. Raises ConfigurationError."""
        from minicluster.embedded.broker import enforcement  # noqa: PLC0415 - where jobs share cores

        found = enforcement.described(self.config, self())
        self.way = found.way
        return found

    async def close(self) -> None:
        """Remove all that was made."""
        for _ in range(_REMOVALS):
            if self._found is None or self._found.close():
                return
            await asyncio.sleep(_REMOVAL_INTERVAL)
