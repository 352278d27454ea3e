"""What the operator keeps between two reconciles: records in the status, from which conditions are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.plan.objects.fields import present
from minicluster.plan.status import dumps, lead_loss, node_loss, resizing

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import LeadLoss, NodeLoss, ResizeStatus, RestartedJob, SaveStatus
    from minicluster.document.record import Record
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.status.reconcile_state import ReconcileState


@dataclass(frozen=True, slots=True)
class ProgressRecords:
    """The records to store; the fields of `document.Status` have their meanings."""

    save: SaveStatus | None = None
    resize: ResizeStatus | None = None
    node_loss: NodeLoss | None = None
    lead_loss: LeadLoss | None = None
    restarted_jobs: tuple[RestartedJob, ...] = ()

    def fields(self) -> Object:
        """Return the status' fields."""
        return present(
            save=_json(self.save),
            resize=_json(self.resize),
            nodeLoss=_json(self.node_loss),
            leadLoss=_json(self.lead_loss),
            restartedJobs=[_json(each) for each in self.restarted_jobs],
        )


def evaluate(state: ReconcileState, now: datetime) -> ProgressRecords:
    """Return the records by the stored ones and by what exists."""
    resize, of_resize = resizing.status(state, now)
    loss, of_loss = node_loss.status(state)
    of_dump = dumps.jobs(state.observed.dump, state.cluster.status)
    return ProgressRecords(
        save=state.saving.status if not state.suspended and not state.ended else None,
        resize=resize,
        node_loss=loss,
        lead_loss=lead_loss.status(state),
        restarted_jobs=(*of_dump, *of_resize, *of_loss),
    )


def _json(record: Record | None) -> Object | None:
    return record.model_dump(mode="json", by_alias=True, exclude_defaults=True) if record else None
