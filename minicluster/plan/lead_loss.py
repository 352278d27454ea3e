"""What a MiniCluster loses with its lead's pod: said while it has no lead, and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import spec as document
from minicluster.plan.constants import REPLACED_CODES, ConditionType, Reason
from minicluster.plan.finding import Finding

if TYPE_CHECKING:
    from minicluster.plan.situation import Situation
    from minicluster.spec import MiniCluster

NOTE = "it began anew when its lead's pod was lost"
"""How the message of condition Running ends, as long as that instance lives."""

_WORKED = frozenset({Reason.COMMAND_RUNNING, Reason.READY_FOR_WORK})


def lost(situation: Situation, progress: str) -> Finding | None:
    """Return that the lead was lost while the instance worked, until another one reports; else None.

    `progress` says how far the pods have come.
    """
    told = situation.previous(ConditionType.RUNNING)
    if told is None or told.reason not in {*_WORKED, Reason.LEAD_LOST}:
        return None
    is_told = told.reason == Reason.LEAD_LOST
    how = told.message.partition(":")[0] if is_told else _how(situation)
    if not how:
        return None
    return Finding("False", Reason.LEAD_LOST, f"{how}: {_what(situation.cluster)}; {progress}")


def note(situation: Situation) -> str:
    """Return what is to be said behind all that a later instance does; empty where nothing was lost."""
    told = situation.previous(ConditionType.RUNNING)
    if told is None or situation.cluster.spec.flux.state_volume:
        return ""
    return f"; {NOTE}" if told.reason == Reason.LEAD_LOST or NOTE in told.message else ""


def _how(situation: Situation) -> str:
    """Return in which way the lead is lost; empty where it is not, or where it has saved before it went."""
    lead = situation.lead
    if lead is None or lead.phase == "Pending":
        return "the lead's pod is gone"
    if lead.phase in {"Succeeded", "Failed"} and lead.exit_code in {None, *REPLACED_CODES} and not lead.dump:
        return "the lead's pod has ended" + ("" if lead.exit_code is None else f" with {lead.exit_code}")
    return ""


def _what(cluster: MiniCluster) -> str:
    spec = cluster.spec
    if spec.flux.state_volume:
        return "another one goes on with its queue (spec.flux.stateVolume); jobs that ran have failed"
    if spec.archive.path:
        return f"another one goes on from {spec.archive.path}, as far as that was written"
    work = "takes new work" if document.is_interactive(spec) else "runs the command from its beginning"
    return f"its queue and its jobs are lost (spec.flux.stateVolume would keep them); another one {work}"
