"""The rules about what goes through to Kubernetes: volumes, tolerations, claims, quantities.

`RULES` are those of `rules` and these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.printable import few, printable
from minicluster.document import messages
from minicluster.document.modes import is_empty_dir, sources
from minicluster.document.quantities import quantity
from minicluster.document.rules import RULES, SPEC, Broken, each_container, groups, rule

__all__ = ["RULES"]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.document.cluster import MiniCluster
    from minicluster.document.container import Volume
    from minicluster.document.positions import Path
    from minicluster.document.resources import ResourceRequirements


def _volumes(cluster: MiniCluster) -> Iterator[tuple[Path, Volume]]:
    for path, container in each_container(cluster):
        for name, volume in container.volumes.items():
            yield (*path, "volumes", name), volume


@rule("volumes", *("hostPath", "configMapName", "claimName", "secretName", "csiDriver", "emptyDir"))
def volumes_have_one_source_at_most(cluster: MiniCluster) -> Iterator[Broken]:
    """A volume is one thing."""
    for path, volume in _volumes(cluster):
        given = [name for name, _ in sources(volume)]
        if len(given) > 1:
            yield path, f"{messages.VOLUME_SOURCE}; found {' and '.join(given)}"


@rule("path", "volumes")
def volumes_have_paths(cluster: MiniCluster) -> Iterator[Broken]:
    """Data that exist already are mounted only where the document wants them."""
    for path, volume in _volumes(cluster):
        given = {name for name, _ in sources(volume)}
        if not volume.path and given <= {"hostPath", "claimName"}:
            yield path, messages.VOLUME_PATH


@rule("volumes", *("hostPath", "configMapName", "claimName", "secretName", "csiDriver", "emptyDir"))
def volume_settings_belong(cluster: MiniCluster) -> Iterator[Broken]:
    """A setting of another kind of volume would be ignored."""
    for path, volume in _volumes(cluster):
        empty_dir = is_empty_dir(volume)
        misplaced = (
            ("items", bool(volume.items) and not (volume.config_map_name or volume.secret_name)),
            ("emptyDirMedium", bool(volume.empty_dir_medium) and not empty_dir),
            ("emptyDirSizeLimit", volume.empty_dir_size_limit is not None and not empty_dir),
            ("csiDriverAttributes", bool(volume.csi_driver_attributes) and not volume.csi_driver),
        )
        for name, strange in misplaced:
            if strange:
                yield (*path, name), messages.VOLUME_EXTRA


@rule("volumes", *("hostPath", "configMapName", "claimName", "secretName", "csiDriver", "emptyDir"))
def volumes_agree_between_containers(cluster: MiniCluster) -> Iterator[Broken]:
    """The volumes of a pod share one list of names."""
    for path, containers in groups(cluster):
        known: dict[str, tuple[tuple[str, str], ...]] = {}
        for index, container in enumerate(containers):
            for name, volume in container.volumes.items():
                if known.setdefault(name, sources(volume)) != sources(volume):
                    yield (*path, index, "volumes", name), messages.VOLUME_TWICE


@rule("image", "disable")
def images_have_names(cluster: MiniCluster) -> Iterator[Broken]:
    """Kubelets can pull no other: InvalidImageName."""
    view = cluster.spec.flux.container
    found = [((*path, "image"), container.image) for path, container in each_container(cluster)]
    if not view.disable:
        found.append(((*SPEC, "flux", "container", "image"), view.image))
    for path, image in found:
        if len(image.split()) != 1 or image != image.strip():
            yield path, f"{messages.IMAGE_NAME}: found '{printable(image)}'"


@rule("tolerations", "key", "operator", "value", "effect", "tolerationSeconds")
def tolerations_make_sense(cluster: MiniCluster) -> Iterator[Broken]:
    """The API server would refuse such tolerations in the pods."""
    for index, toleration in enumerate(cluster.spec.pod.tolerations):
        path = (*SPEC, "pod", "tolerations", index)
        exists = toleration.operator == "Exists"
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            yield (*path, "tolerationSeconds"), messages.TOLERATION_SECONDS
        if not toleration.key and not exists:
            yield path, messages.TOLERATION_KEY
        if exists and toleration.value:
            yield (*path, "value"), messages.TOLERATION_VALUE


@rule("resourceClaims", "claims", "name")
def claims_exist(cluster: MiniCluster) -> Iterator[Broken]:
    """A container uses the pod's claims by name."""
    known = {claim.name for claim in cluster.spec.pod.resource_claims}
    names = few(sorted(known)) or "none"
    for path, container in each_container(cluster):
        for index, use in enumerate(container.resources.claims):
            if use.name not in known:
                yield (
                    (*path, "resources", "claims", index, "name"),
                    f'{messages.CLAIM_UNKNOWN}: found "{use.name}", there: {names}',
                )


@rule("resourceClaims", "resourceClaimName", "resourceClaimTemplateName")
def claims_have_one_source(cluster: MiniCluster) -> Iterator[Broken]:
    """A claim exists already, or is made from a template."""
    for index, claim in enumerate(cluster.spec.pod.resource_claims):
        if bool(claim.resource_claim_name) == bool(claim.resource_claim_template_name):
            yield (*SPEC, "pod", "resourceClaims", index), messages.CLAIM_SOURCE


@rule("stateVolume", "claimName", "hostPath")
def state_volume_has_one_source(cluster: MiniCluster) -> Iterator[Broken]:
    """The state directory is on one volume."""
    volume = cluster.spec.flux.state_volume
    if volume is not None and bool(volume.claim_name) == bool(volume.host_path):
        yield (*SPEC, "flux", "stateVolume"), messages.STATE_SOURCE


@rule("resources", "limits", "requests")
def requests_within_limits(cluster: MiniCluster) -> Iterator[Broken]:
    """Kubernetes refuses a pod that is promised more than it may use."""
    for path, container in each_container(cluster):
        yield from _above((*path, "resources"), container.resources)
    yield from _above((*SPEC, "flux", "container", "resources"), cluster.spec.flux.container.resources)


def _above(path: Path, resources: ResourceRequirements) -> Iterator[Broken]:
    for name, request in resources.requests.items():
        limit = resources.limits.get(name)
        if limit is not None and quantity(request) > quantity(limit):
            found = f"found {request}, the limit is {limit}"
            yield (*path, "requests", name), f"{messages.REQUEST_ABOVE_LIMIT}: {found}"
