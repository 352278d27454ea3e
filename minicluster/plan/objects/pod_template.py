"""The template of the broker pods, and what the services pod has in common with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.constants import RUN_DIR, SAVE_SECONDS, START_SCRIPT, STATE_DIR, Component
from minicluster.plan.objects import config_map, containers, flux_view, pod_affinity, volumes
from minicluster.plan.objects.fields import passed, present
from minicluster.plan.objects.labels import pod_labels
from minicluster.plan.objects.security import pod_context

if TYPE_CHECKING:
    from minicluster.document import Container, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site

# Kubernetes' default, for the end of the brokers after the wait for jobs.
_GRACE_SECONDS = 30
_RUN = {"MINICLUSTER_RUN": RUN_DIR}


def build(cluster: MiniCluster, site: Site, *, mounts_flux_files: bool) -> Object:
    """Return the template of the broker pods. It does not depend on `size`: a Job's template is immutable.

    `mounts_flux_files`: whether they mount those of the namespace. Pods that release 0.1.0 made do not; nor
    do they mount the tokens for single purposes.
    """
    pod = cluster.spec.pod
    config = _config(cluster, site, mounts_flux_files=mounts_flux_files)
    tokens = volumes.tokens(cluster, site) if mounts_flux_files else None
    own = [each for each in (config, tokens) if each]
    runner = [_runner(cluster, site, own)]
    before = [*flux_view.init_containers(cluster, site), *_sidecars(cluster, site, config)]
    return {
        "metadata": present(
            labels=pod_labels(cluster, Component.BROKER),
            annotations=dict(pod.annotations),
        ),
        "spec": present(
            **common(cluster, cluster.spec.containers),
            restartPolicy=pod.restart_policy,
            shareProcessNamespace=cluster.spec.share_process_namespace,
            terminationGracePeriodSeconds=_grace(cluster),
            affinity=pod_affinity.affinity(cluster),
            topologySpreadConstraints=pod_affinity.topology_spread(cluster),
            initContainers=before,
            containers=runner,
            volumes=volumes.used(_volumes(cluster, site, own), [*before, *runner]),
            imagePullSecrets=pull_secrets(cluster),
        ),
    }


def common(cluster: MiniCluster, members: tuple[Container, ...]) -> Object:
    """Return what broker pods and the services pod have in common; `members` are the pod's containers."""
    pod = cluster.spec.pod
    return present(
        subdomain=document.headless_name(cluster),
        serviceAccountName=pod.service_account_name,
        automountServiceAccountToken=pod.automount_service_account_token,
        # Kubernetes' variables for each Service of the namespace could collide with Flux's or ours.
        enableServiceLinks=False,
        schedulerName=pod.scheduler_name,
        priorityClassName=pod.priority_class_name,
        runtimeClassName=pod.runtime_class_name,
        dnsPolicy=pod.dns_policy,
        hostIPC=pod.host_ipc or None,
        hostPID=pod.host_pid or None,
        nodeSelector=pod_affinity.node_selector(cluster),
        tolerations=[passed(toleration) for toleration in pod.tolerations],
        overhead=dict(pod.resources),
        resourceClaims=[passed(claim) for claim in pod.resource_claims],
        securityContext=pod_context(pod, members),
    )


def pull_secrets(cluster: MiniCluster) -> list[Object]:
    """Return the Secrets with which the images of the broker pods are pulled."""
    view = cluster.spec.flux.container
    given = [container.image_pull_secret for container in cluster.spec.containers]
    return containers.pull_secrets(cluster, given if view.disable else [*given, view.image_pull_secret])


def _grace(cluster: MiniCluster) -> int:
    """Return the grace period in seconds; a lead that saves may have to write a dump as well."""
    more = SAVE_SECONDS if cluster.spec.archive.path else _GRACE_SECONDS
    return more + cluster.spec.drain_timeout_seconds


def _config(cluster: MiniCluster, site: Site, *, mounts_flux_files: bool) -> volumes.Mounted:
    """Return the directory with what brokers read: settings, scripts, and zips for real Flux's lead."""
    if mounts_flux_files:
        return volumes.config_and_flux_files(cluster, site, config_map.zips(cluster, site))
    return volumes.config(cluster, site)


def _runner(cluster: MiniCluster, site: Site, own: list[volumes.Mounted]) -> Object:
    index = document.runner_index(cluster.spec)
    container = cluster.spec.containers[index]
    built = containers.build(
        cluster,
        container,
        document.container_name(cluster.spec, index),
        command=["/bin/sh", f"{site.config_dir}/{START_SCRIPT}"],
        traps=True,
        environment=_runner_environment(cluster),
        mounts=volumes.mounts([*_runner_volumes(cluster, site, own), *volumes.of_document(container)]),
    )
    port = {"name": "broker", "containerPort": cluster.spec.network.port, "protocol": "TCP"}
    others = [each for each in built.get("ports", []) if each["containerPort"] != port["containerPort"]]
    return {**built, "ports": [port, *others]}


def _runner_environment(cluster: MiniCluster) -> dict[str, str]:
    return {**_RUN, "MINICLUSTER_STATE": STATE_DIR} if cluster.spec.flux.state_volume else _RUN


def _sidecars(cluster: MiniCluster, site: Site, config: volumes.Mounted) -> list[Object]:
    """Return the sidecars as Kubernetes' sidecar containers: they start first, and end after the broker.

    An ordinary container that never ends would keep its pod, and so the Job, from completing.
    """
    return [
        {
            **containers.build(
                cluster,
                container,
                container.name,
                command=_sidecar_command(container, site),
                traps=containers.has_script(container),
                environment=_RUN,
                mounts=volumes.mounts(
                    [*_shared_volumes(cluster, site, config), *volumes.of_document(container)]
                ),
            ),
            "restartPolicy": "Always",
        }
        for container in document.sidecars(cluster.spec)
    ]


def _sidecar_command(container: Container, site: Site) -> list[str]:
    if containers.has_script(container):
        return ["/bin/sh", f"{site.config_dir}/{containers.sidecar_script(container)}"]
    return containers.plain_command(container)


def _shared_volumes(cluster: MiniCluster, site: Site, config: volumes.Mounted) -> list[volumes.Mounted]:
    """Return the volumes of every container: settings, the broker's socket, Flux, shared memory."""
    view = flux_view.mounted(cluster, site)
    shared = [config, volumes.run(), volumes.shared_memory()]
    return [*shared, view] if view else shared


def _runner_volumes(cluster: MiniCluster, site: Site, own: list[volumes.Mounted]) -> list[volumes.Mounted]:
    """Return the volumes of the broker's container; `own` is the settings, and the tokens if any."""
    optional = [volumes.state(cluster), volumes.munge(cluster), volumes.metrics_tls(cluster, site)]
    config, *tokens = own
    return [
        *_shared_volumes(cluster, site, config),
        volumes.curve(cluster, site),
        *tokens,
        *(mounted for mounted in optional if mounted),
    ]


def _volumes(cluster: MiniCluster, site: Site, own: list[volumes.Mounted]) -> list[volumes.Mounted]:
    given = [each for container in cluster.spec.containers for each in volumes.of_document(container)]
    return [*_runner_volumes(cluster, site, own), *given]
