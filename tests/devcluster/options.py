"""What a control plane may have different."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.devcluster.components import LOOPBACK, Flags
from tests.devcluster.images import AnyImage

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What a control plane may have different.

    version: a minor version (`1.31`), None for the programs that are at hand, else the pinned ones.
    crds: applied before the controller-manager starts: its autoscaler learns of later ones within 30 s only.
    apiserver, controller_manager, scheduler: flags that replace or join ours, without the dashes.
    audit: log who asked the API server for what; read by `ControlPlane.requests`.
    address: where the API server listens, without nodes.
    nodes: so many real nodes, with the cluster's DNS; needs root, see node_programs.py.
    images: what the nodes have, None for all of `node_images.build`.
    static_cores: the kubelet gives containers cores of their own; with one node only, as several kubelets on
        one machine would give away the same cores.
    """

    version: str | None = None
    crds: Sequence[Object] = ()
    apiserver: Flags = field(default_factory=dict)
    controller_manager: Flags = field(default_factory=dict)
    scheduler: Flags = field(default_factory=dict)
    audit: bool = False
    address: str = LOOPBACK
    nodes: int = 0
    images: Sequence[AnyImage] | None = None
    static_cores: bool = False


PLAIN = Options()
