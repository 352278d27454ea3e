"""The one extra pod in which the document's services run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import Component
from minicluster.plan.objects import containers, names, volumes
from minicluster.plan.objects.fields import present
from minicluster.plan.objects.labels import metadata, pod_labels
from minicluster.plan.objects.pod_template import common

if TYPE_CHECKING:
    from minicluster.document import Container, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> Object:
    """Return the services pod; brokers reach it as `<name>-services.<headless name>`."""
    spec = cluster.spec
    name = names.services_pod(cluster)
    about = metadata(cluster, site, name, Component.SERVICES)
    members = [_container(cluster, site, container) for container in spec.services]
    secrets = (container.image_pull_secret for container in spec.services)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **about,
            "labels": pod_labels(cluster, Component.SERVICES),
            **present(annotations=dict(spec.pod.annotations)),
        },
        "spec": present(
            **common(cluster, spec.services),
            hostname=name,
            # A service that fails is started again, unlike a broker.
            restartPolicy="OnFailure",
            containers=members,
            volumes=volumes.used(_volumes(cluster, site), members),
            imagePullSecrets=containers.pull_secrets(cluster, secrets),
        ),
    }


def _container(cluster: MiniCluster, site: Site, container: Container) -> Object:
    scripted = containers.has_script(container)
    settings = [volumes.config(cluster, site)] if scripted else []
    script = ["/bin/sh", f"{site.config_dir}/{containers.service_script(container)}"]
    return containers.build(
        cluster,
        container,
        container.name,
        command=script if scripted else containers.plain_command(container),
        traps=scripted,
        mounts=volumes.mounts([*settings, *volumes.of_document(container)]),
    )


def _volumes(cluster: MiniCluster, site: Site) -> list[volumes.Mounted]:
    given = [each for container in cluster.spec.services for each in volumes.of_document(container)]
    return [volumes.config(cluster, site), *given]
