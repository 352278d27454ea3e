"""The status of a broker's queues, one request for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import JSON


def statuses(ask: Callable[[str, JSON], JSON]) -> dict[str, JSON]:
    """Return each queue's job-manager.queue-status by its name; "" where an instance has no named ones."""
    names = ask("job-manager.queue-list", {}).get("queues") or [""]
    return {name: ask("job-manager.queue-status", {"name": name} if name else {}) for name in names}
