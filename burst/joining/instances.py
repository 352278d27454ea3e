"""The Kubernetes objects of an instance of its own: a MiniCluster for one job, without an operator.

Nobody but its own pods connects to it. It is reached by commands in the pod of its lead broker alone, with
the rights of whose credentials made it. All objects hang on the burst's anchor, as those of followers do.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from broker_config import curve
from burst.joining import workers
from burst.joining.worker_document import isolated_document
from minicluster import flux_zips
from minicluster.plan import FreshKeys, Site

if TYPE_CHECKING:
    from burst.joining.worker_document import WorkerSettings
    from burst.providers.provider import WantedBurst
    from minicluster.document import MiniCluster

KubeObject = dict[str, Any]

_KINDS = ("Secret", "ConfigMap", "NetworkPolicy", "Service", "Job")
"""In the order in which they are made. The certificate is a new one each time, so the Secret that is made
first counts, and is found there later on."""


def instance_objects(
    cluster: MiniCluster, wanted: WantedBurst, settings: WorkerSettings, now: float
) -> tuple[KubeObject, ...]:
    """Return the objects of an isolated burst without its anchor, in the order in which they are made.

    Raises CallInvalid where there can be none, with every problem in words.
    """
    request = workers.requested(wanted, now)
    found = isolated_document(cluster, request, settings)
    keys = FreshKeys(curve.generate())
    site = Site(namespace=settings.namespace, image_volumes=settings.image_volumes)
    planned = workers.planned(found, site, now, keys)
    made = {each["kind"]: each for each in planned if each["kind"] in _KINDS}
    made["NetworkPolicy"] = workers.closed(made["NetworkPolicy"])
    # What real Flux's lead answers by; the embedded one has it in its image.
    packed = {flux_zips.ZIP: base64.b64encode(site.flux_files.lead_zip()).decode()}
    made["ConfigMap"] = {**made["ConfigMap"], "binaryData": packed}
    job = made["Job"]
    made["Job"] = {**job, "spec": {**job["spec"], "ttlSecondsAfterFinished": workers.ENDED_SECONDS}}
    labels = workers.labels_of(wanted)
    return tuple(workers.labelled(made[kind], labels) for kind in _KINDS if kind in made)
