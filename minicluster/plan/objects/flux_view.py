"""Flux in pods whose own image has none: the view image's directories, mounted or copied.

A view image has Flux in /opt/software and /opt/views, with /opt/view a link into the latter. Flux runs
only at the paths that it was built for, so both are mounted there. All of /opt is mounted at `mountPath`,
where the start script finds `view/bin`. If the cluster does not mount images as volumes, an init container
copies /opt into a volume of the pod.

Documents written for the reference contain `. /mnt/flux/flux-view.sh`: the init container writes that file
beside the copy. An image volume is read-only, so it has no such file. The start script does all that the file
would do, so that a document can leave the line out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config import start_script
from minicluster import document
from minicluster.plan.constants import RUN_DIR
from minicluster.plan.objects import settings
from minicluster.plan.objects.fields import passed, present
from minicluster.plan.objects.security import container_context, like_runner
from minicluster.plan.objects.volumes import Mounted

if TYPE_CHECKING:
    from minicluster.document import FluxContainer, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site

_VOLUME = "minicluster-view"
_SOURCE = "opt"
_FIXED = ("software", "views")
# The contents of /opt, not /opt itself: only root may set the times of the volume's own folder.
_COPY = 'cp -a /opt/* "$0"/ && printf %s "$1" >"$0"/flux-view.sh'


def mounted(cluster: MiniCluster, site: Site) -> Mounted | None:
    """Return the volume with Flux and its mounts in a broker's container; None: its image has Flux."""
    view = cluster.spec.flux.container
    if view.disable:
        return None
    prefix = f"{_SOURCE}/" if site.image_volumes else ""
    whole = present(name=_VOLUME, mountPath=view.mount_path, subPath=prefix.rstrip("/"), readOnly=True)
    parts = [
        {"name": _VOLUME, "mountPath": f"/opt/{part}", "subPath": f"{prefix}{part}", "readOnly": True}
        for part in _FIXED
    ]
    return Mounted({"name": _VOLUME, **_source(view, site)}, (whole, *parts))


def init_containers(cluster: MiniCluster, site: Site) -> list[Object]:
    """Return the init container that copies the view, if it must be copied."""
    view = cluster.spec.flux.container
    if view.disable or site.image_volumes:
        return []
    context = like_runner(view.security_context, document.runner(cluster.spec))
    return [
        present(
            name=view.name,
            image=view.image,
            imagePullPolicy=_pull_policy(view),
            command=["/bin/sh", "-c", _COPY, view.mount_path, _script(cluster)],
            workingDir=view.working_dir,
            resources=passed(view.resources),
            securityContext=container_context(cluster.spec.pod, context),
            volumeMounts=[{"name": _VOLUME, "mountPath": view.mount_path}],
        )
    ]


def _script(cluster: MiniCluster) -> str:
    """Return flux-view.sh, which puts Flux on PATH and exports the socket of this pod's broker.

    It does not set FLUX_URI: a broker that finds one takes itself for a part of that instance.
    """
    lines = start_script.view_lines(settings.flux_view(cluster))
    socket = "flux/local-$JOB_COMPLETION_INDEX" if cluster.spec.flux.disable_socket else "local"
    return "\n".join([*lines, f"export fluxsocket=local://{RUN_DIR}/{socket}", ""])


def _source(view: FluxContainer, site: Site) -> Object:
    if site.image_volumes:
        return {"image": {"reference": view.image, "pullPolicy": _pull_policy(view)}}
    return {"emptyDir": {}}


def _pull_policy(view: FluxContainer) -> str:
    return "Always" if view.pull_always else "IfNotPresent"
