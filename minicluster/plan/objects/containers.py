"""Builds a container of a pod from a container of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.start_script import WAIT_FOR_TRAP
from minicluster.plan.objects.fields import passed, present
from minicluster.plan.objects.security import container_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from minicluster.document import Container, MiniCluster
    from minicluster.plan.objects.fields import Object


def build(
    cluster: MiniCluster,
    container: Container,
    name: str,
    *,
    command: Sequence[str] = (),
    traps: bool = False,
    environment: Mapping[str, str] | None = None,
    mounts: Iterable[Object] = (),
) -> Object:
    """Return the container; without a `command` its image's own entry point runs.

    `traps`: the command is a script of ours, which traps SIGTERM as soon as it runs.
    """
    return present(
        name=name,
        image=container.image,
        imagePullPolicy=pull_policy(container),
        command=list(command),
        workingDir=container.working_dir,
        env=_environment(container, environment or {}),
        ports=[{"containerPort": port, "protocol": "TCP"} for port in container.ports],
        resources=passed(container.resources),
        securityContext=container_context(cluster.spec.pod, container.security_context),
        lifecycle=_lifecycle(container, traps=traps),
        volumeMounts=_once_a_path(mounts),
    )


def has_script(container: Container) -> bool:
    """Whether a sidecar or service runs in our script: it has a command, and no `noWrapEntrypoint`."""
    return bool(_has_command(container) and not container.no_wrap_entrypoint)


def sidecar_script(container: Container) -> str:
    """Return the file name of a sidecar's script in the ConfigMap."""
    return f"sidecar-{container.name}.sh"


def service_script(container: Container) -> str:
    """Return the file name of a service's script in the ConfigMap."""
    return f"service-{container.name}.sh"


def plain_command(container: Container) -> list[str]:
    """Return the command of a container without our script: its own line, or its image's (empty)."""
    return ["/bin/sh", "-c", container.command] if container.command else []


def pull_policy(container: Container) -> str:
    """Return when the image is pulled."""
    return container.image_pull_policy or ("Always" if container.pull_always else "IfNotPresent")


def pull_secrets(cluster: MiniCluster, further: Iterable[str]) -> list[Object]:
    """Return the Secrets for pulling images, each once, the pod's own first."""
    whole = [secret.name for secret in cluster.spec.pod.image_pull_secrets]
    return [{"name": name} for name in dict.fromkeys([*whole, *further]) if name]


def _has_command(container: Container) -> bool:
    return bool(container.command.strip() or container.commands.script.strip())


def _environment(container: Container, ours: Mapping[str, str]) -> list[Object]:
    """Return the variables, each name once; our paths of the volumes win over the document's."""
    plain: dict[str, Object] = {
        name: {"value": value} for name, value in sorted(container.environment.items())
    }
    secret: dict[str, Object] = {
        name: {"valueFrom": {"secretKeyRef": {"name": reference.name, "key": reference.key}}}
        for name, reference in sorted(container.secrets.items())
    }
    fixed: dict[str, Object] = {name: {"value": value} for name, value in sorted(ours.items())}
    return [{"name": name, **source} for name, source in {**plain, **secret, **fixed}.items()]


def _lifecycle(container: Container, *, traps: bool) -> Object:
    hooks = container.life_cycle
    before_stop = hooks.pre_stop_exec or (WAIT_FOR_TRAP if traps else "")
    return present(postStart=_in_shell(hooks.post_start_exec), preStop=_in_shell(before_stop))


def _in_shell(line: str) -> Object:
    return {"exec": {"command": ["/bin/sh", "-c", line]}} if line else {}


def _once_a_path(mounts: Iterable[Object]) -> list[Object]:
    """Return the mounts, each path once: the document's /dev/shm replaces ours."""
    return list({mount["mountPath"]: mount for mount in mounts}.values())
