"""What is known of all jobs of an instance, over links to a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.instance import job_changes, user_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.instance.links.shared import SharedLinks
    from minicluster.instance.port import Stream
    from minicluster.instance.records import JobChange


class RpcOverview:
    """See `minicluster.instance.port.JobOverview`."""

    def __init__(self, links: SharedLinks) -> None:
        self._links = links

    def changes(self, since: float = 0.0) -> Stream[JobChange]:
        """What jobs there are, then each change of one."""
        return job_changes.changes(self._links, since)

    def attributes(self, jobids: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        """Return `attributes.user` of many jobs."""
        return user_attributes.of(self._links, jobids)
