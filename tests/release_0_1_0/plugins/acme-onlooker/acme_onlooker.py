"""What `status` and `top` show of a queue, counted from the list of its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minicluster.instance.errors import InstanceGone, RequestRefused

if TYPE_CHECKING:
    from minicluster.instance.transport import Transport

PENDING, RUNNING = 14, 48  # sums of job states (RFC 21), as `job-list.list` takes and gives them


class Number(NamedTuple):
    """One number."""

    name: str
    labels: dict[str, str]
    value: float


class Counts:
    """Asks for the jobs whenever it is asked."""

    def __init__(self, transport: Transport, minimum: int = 1) -> None:
        self._transport = transport
        self._minimum = minimum
        self.samples()  # raises InstanceGone or RequestRefused where nobody answers as an instance does

    def samples(self) -> list[Number]:
        """Return the numbers as they are now."""
        wanted = {"max_entries": 1000, "attrs": ["state", "urgency"], "constraint": {}}
        try:
            jobs = self._transport.call("job-list.list", wanted, timeout=10.0)["jobs"]
        except (InstanceGone, RequestRefused) as error:
            error.add_note("asked by acme's counts")
            raise
        pending = sum(1 for job in jobs if job["state"] & PENDING)
        held = sum(1 for job in jobs if job["state"] & PENDING and job["urgency"] == 0)
        numbers = {
            "flux_jobs_pending": pending,
            "flux_jobs_held": held,
            "flux_jobs_running": sum(1 for job in jobs if job["state"] & RUNNING),
            "flux_nodes_demanded": max(self._minimum, 40 + pending - held),
        }
        return [Number(name, {}, float(value)) for name, value in numbers.items()]

    def __enter__(self) -> Counts:  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is kept open."""
