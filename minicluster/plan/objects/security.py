"""Security contexts: "restricted" (Pod Security Standards) whenever the document names a user.

Without a user nothing is restricted that an image running as root may need. Nothing is granted either: only
the container runtime's own seccomp profile is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.document import SecurityContext
from minicluster.plan.constants import NOBODY
from minicluster.plan.objects.fields import merged, passed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import Container, PodSecurityContext, PodSpec
    from minicluster.plan.objects.fields import Object

_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
}
_IDENTITY = {"run_as_user", "run_as_group", "run_as_non_root"}


def pod_context(pod: PodSpec, containers: Iterable[Container]) -> Object:
    """Return the pod's security context; `containers` are those whose files the pod's group must open."""
    generated: Object = {"seccompProfile": {"type": "RuntimeDefault"}}
    group = _group(pod, tuple(containers))
    if group is not None:
        generated["fsGroup"] = group
    if _names_user(pod.security_context):
        generated["runAsNonRoot"] = True
    return merged(generated, passed(pod.security_context))


def container_context(pod: PodSpec, context: SecurityContext | None) -> Object:
    """Return a container's security context: restricted where it, or its pod, names a user."""
    given = passed(context)
    pod_names_user = _names_user(pod.security_context)
    if _names_user(context) or (pod_names_user and "runAsUser" not in given):
        return merged(_RESTRICTED, given)
    # The document runs this container as root, in a pod that else is not.
    return {"runAsNonRoot": False, **given} if pod_names_user else given


def like_runner(context: SecurityContext | None, runner: Container) -> SecurityContext | None:
    """Return the context of a container of ours: its own, else the runner's."""
    if context is not None or runner.security_context is None:
        return context
    return SecurityContext(**runner.security_context.model_dump(include=_IDENTITY, exclude_unset=True))


def _names_user(context: PodSecurityContext | SecurityContext | None) -> bool:
    if context is None:
        return False
    return bool(context.run_as_user) or (context.run_as_non_root is True and context.run_as_user is None)


def _group(pod: PodSpec, containers: tuple[Container, ...]) -> int | None:
    """Return the group that may read the certificate, whose file has mode 0400 and belongs to root.

    An image may have a user of its own that the document does not name. A group without other members lets
    it read the file; not where the document mounts disks, as their files would get that group.
    """
    identities = [pod.security_context, *(each.security_context for each in containers)]
    for identity in identities:
        if identity is not None and (identity.run_as_group or identity.run_as_user):
            return identity.run_as_group or identity.run_as_user
    keeps = any(
        volume.claim_name or volume.csi_driver
        for container in containers
        for volume in container.volumes.values()
    )
    return None if keeps else NOBODY
