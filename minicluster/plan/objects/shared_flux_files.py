"""The ConfigMap with the zips for real Flux's lead, which all MiniClusters of a namespace share.

They are 200 kB, and the same for all: once a namespace is enough (decision 0046). No MiniCluster owns it. The
operator makes it with the first one, and deletes it after the last one. An operator of 0.1.0 knows nothing of
it, and puts the zips into each MiniCluster's own ConfigMap, which is mounted over this one.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING

from minicluster import flux_zips
from minicluster.plan.constants import (
    APPLICATION,
    LABEL_COMPONENT,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_PART_OF,
    MANAGER,
    PART_OF,
    Component,
)
from minicluster.plan.objects import names

if TYPE_CHECKING:
    from minicluster.flux_zips import FluxFiles
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import JobReport, Site


def are_mounted(site: Site, job: JobReport | None) -> bool:
    """Whether a MiniCluster's pods mount it: as its Job was made, and at first where there is an operator."""
    if job is not None:
        return job.mounts_flux_files
    return site.lead_api and site.endpoints is None


def build(namespace: str, files: FluxFiles) -> Object:
    """Return the ConfigMap of a namespace."""
    labels = {
        LABEL_NAME: APPLICATION,
        LABEL_COMPONENT: Component.FLUX_FILES.value,
        LABEL_PART_OF: PART_OF,
        LABEL_MANAGED_BY: MANAGER,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": names.FLUX_FILES, "namespace": namespace, "labels": labels},
        "binaryData": {
            flux_zips.ZIP: encoded(files.lead_zip()),
            flux_zips.SCHEDULER_ZIP: encoded(files.scheduler_zip()),
        },
    }


@lru_cache(maxsize=4)
def encoded(packed: bytes) -> str:
    """Return a zip in base64."""
    return b64encode(packed).decode()
