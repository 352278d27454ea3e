"""The condition Suspended during a save, made from `status.save`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from minicluster.plan.constants import SAVE_SECONDS, Reason
from minicluster.plan.status import dumps
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.document import MiniCluster, SaveStatus
    from minicluster.plan.records import Saving

_STAGES = {
    "Ordered": "the lead broker is told",
    "Writing": "the dump is being written",
    "Leaving": "the lead's pod was told to go, and saves before it does",
}


def condition(saving: Saving, cluster: MiniCluster) -> ConditionValue | None:
    """Return the condition of a MiniCluster that is saved before its pods go; None: there is no save."""
    save = saving.status
    if save is None:
        return None
    if save.phase == "Saved":
        saved = dumps.sentence(saving.dump) if saving.dump else dumps.stored_sentence(cluster.status)
        return ConditionValue("False", Reason.SAVED, saved)
    path, since = cluster.spec.archive.path, datetime.fromisoformat(save.started_at)
    if save.phase == "Lost":
        return ConditionValue("False", Reason.NOT_SAVED, f"nothing was saved to {path}: {save.error}")
    if save.phase == "Abandoned":
        return ConditionValue("False", Reason.NOT_SAVED, _abandoned(save, cluster), since)
    is_deleted = cluster.metadata.deletion_timestamp is not None
    limit = f"; it goes after {seconds(cluster)} s at the latest" if is_deleted else ""
    if save.phase == "Failed":
        why = f"{save.error or 'the lead does not say why'}; it is tried again at {save.retry_at}"
        message = f"nothing was saved to {path}: {why}{limit}"
        return ConditionValue("False", Reason.SAVE_FAILED, message, since)
    before = "it is deleted" if is_deleted else "its pods go"
    message = f"saving to {path} before {before}: {_stage(save)}{limit}"
    return ConditionValue("False", Reason.SAVING, message, since)


def _stage(save: SaveStatus) -> str:
    if save.phase == "Waiting":
        return f"waiting for {save.waiting_for} {'job' if save.waiting_for == 1 else 'jobs'}"
    return _STAGES.get(save.phase, save.error)


def _abandoned(save: SaveStatus, cluster: MiniCluster) -> str:
    is_deleted = cluster.metadata.deletion_timestamp is not None
    what = "the MiniCluster is deleted" if is_deleted else "its pods are told to go"
    why = f" ({save.error})" if save.error else ""
    return (
        f"nothing is known to be saved to {cluster.spec.archive.path} after {seconds(cluster)} s{why}; {what}"
        " all the same, and what the lead does not save by itself is lost"
    )


def seconds(cluster: MiniCluster) -> int:
    """Return how many seconds a save may take if the lead does not answer, or before a deletion."""
    return cluster.spec.drain_timeout_seconds + SAVE_SECONDS
