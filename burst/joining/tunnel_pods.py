"""Where a service in a cluster has the lead's side of tunnels run: in pods beside it, from one template.

The template is the chart's: image, kubeconfigs, nodes and resources are those of the release. What a burst
adds is in `burst.providers.kubernetes.tunnel.pod_objects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from burst.errors import SettingsInvalid
from minicluster.document.errors import Problem
from minicluster.plan.constants import LABEL_NAME, LABEL_NAMESPACE_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.document import MiniCluster
    from minicluster.kube_client.access import Access

KubeObject = dict[str, Any]

CONTAINER = "tunnel"
"""The container of the template."""
TUNNEL_APPLICATION = "minicluster-burst-tunnel"
"""Their label LABEL_NAME: the service's own would let them reach the APIs of leads."""
LABEL_CLUSTER = "minicluster-cluster"
"""The uid of the MiniCluster whose lead they reach: its policy admits these pods, and no others there."""


class TunnelPods(NamedTuple):
    """The namespace of tunnels' pods, and what they are made of."""

    access: Access
    """Of the service, in its own cluster."""
    namespace: str
    template: KubeObject
    """A pod's metadata and spec, with one container."""


def load_template(path: Path) -> KubeObject:
    """Return the template in a file. Raises SettingsInvalid."""
    try:
        found = yaml.safe_load(path.read_bytes())
        [name] = [each["name"] for each in found["spec"]["containers"]]
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise _invalid(path, "is no template of a pod with one container") from error
    if name != CONTAINER:
        raise _invalid(path, f"has a container {name!r}; right would be {CONTAINER!r}")
    template: KubeObject = found
    return template


def _invalid(path: Path, text: str) -> SettingsInvalid:
    return SettingsInvalid([Problem("", text, source=str(path))])


def admitted(cluster: MiniCluster, namespace: str) -> KubeObject:
    """Return the peer of a NetworkPolicy that the pods of a MiniCluster's tunnels are.

    Anybody can label a pod so in another namespace: the namespace is what counts.
    """
    labels = {LABEL_NAME: TUNNEL_APPLICATION, LABEL_CLUSTER: cluster.metadata.uid}
    return {
        "namespaceSelector": {"matchLabels": {LABEL_NAMESPACE_NAME: namespace}},
        "podSelector": {"matchLabels": labels},
    }
