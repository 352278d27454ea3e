"""The requests for resources that have no answer yet, and their annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.flux_scheduler import replies

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.flux_scheduler.scheduling import Scheduling

ANNOTATION_INTERVAL = 1.0
"""Seconds at least between two rounds of annotations."""


@dataclass(slots=True)
class OpenRequest:
    """A request without an answer."""

    request: Any
    annotation: dict[str, Any] | None = None
    """The last one that was sent."""


class OpenRequests:
    """The open requests, by job. `failed` is called with an error of annotating."""

    def __init__(
        self, handle: Any, scheduling: Callable[[], Scheduling], failed: Callable[[str], None]
    ) -> None:
        self._scheduling = scheduling
        self._failed = failed
        self._pending: dict[int, OpenRequest] = {}
        self._annotator = handle.timer_watcher_create(0.0, self._on_annotate)
        self._annotating = False
        self._annotated: set[int] = set()

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, job: int, request: Any) -> None:
        """Add a request."""
        self._pending[job] = OpenRequest(request)

    def __contains__(self, job: object) -> bool:
        return job in self._pending

    def take(self, job: int) -> Any:
        """Remove and return the request of this job, which the caller answers."""
        return self._pending.pop(job).request

    def schedule_annotation(self) -> None:
        """Annotate the waiting jobs after ANNOTATION_INTERVAL seconds, if there are any."""
        if self._pending and not self._annotating:
            self._annotating = True
            self._annotator.reset(after=ANNOTATION_INTERVAL)

    def _on_annotate(self, *_: object) -> None:
        self._annotating = False
        try:
            self._annotate()
        except Exception as error:  # noqa: BLE001 - the module must stay
            self._failed(f"cannot annotate jobs: {type(error).__name__}: {error}")

    def _annotate(self) -> None:
        annotations = replies.annotations_of(self._scheduling())
        for jobid in (annotations.keys() | self._annotated) & self._pending.keys():
            pending, annotation = self._pending[jobid], annotations.get(jobid, replies.NOTHING)
            if annotation != pending.annotation:
                pending.annotation = annotation
                pending.request.annotate({"sched": annotation})
        self._annotated = set(annotations)
