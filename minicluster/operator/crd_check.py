"""Checks that the cluster's CRD has the status fields in which this operator keeps what it does.

The API server drops fields that a CRD does not have, without an error: a save that began would be forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.printable import few
from minicluster.document.schema import document_schema
from minicluster.kube_client import discovery
from minicluster.kube_client.errors import ANOTHERS_CRD, NO_CRD
from minicluster.kube_client.resources import MINICLUSTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.kube_client.discovery import Readable
    from minicluster.plan.objects.fields import Object

UNPUBLISHED = "the API server has not published the fields of MiniClusters yet (/openapi/v3)"


async def trouble(client: Readable) -> str:
    """Return what is wrong with the cluster's CRD, and what to do; empty where nothing is.

    Raises ApiError, ApiUnreachableError.
    """
    if not await discovery.serves(client, MINICLUSTERS):
        return NO_CRD
    served = await discovery.schema(client, MINICLUSTERS)
    if served is None:
        return UNPUBLISHED
    if discovery.is_anothers(served):
        return ANOTHERS_CRD
    missing = discovery.missing_fields(_status(document_schema()), _status(served))
    return too_old(missing) if missing else ""


def too_old(missing: Sequence[str]) -> str:
    """Return the message about a CRD that lacks fields of the status."""
    named = few([f"status.{each}" for each in missing])
    return (
        f"the CRD is older than this operator: it lacks {named}, without which a save or a resize"
        " would be forgotten. Install the newer one: minicluster crd | kubectl apply --server-side -f -"
    )


def _status(schema: Object) -> Object:
    found: Object = (schema.get("properties") or {}).get("status") or {}
    return found
