"""A real Kubernetes control plane on one machine, for tests and for development.

    from tests.devcluster import Options, cluster

    with cluster(Options(crds=[crd()], audit=True)) as plane:
        plane.kubeconfig                     # for programs
        plane.api.get("/api/v1/namespaces")  # for the test itself
        plane.user("jane", ["developers"])   # a user without rights
        plane.add_fake_nodes(10)             # pods run on them, and end as stages.yaml defines
        plane.add_nodes(4)                   # with Options(nodes=1) or more: real ones, see nodes.py
        plane.apiserver.restart()
        plane.requests()                     # who asked for what

or, to end it oneself, `plane = start(Options(...))` and `plane.stop()`. It is ready in about 3 s and ends
with the process that started it, however that ends. By hand: `python -m tests.devcluster up` (`make
cluster`). lookup.py finds the programs; where there are none, MissingProgramsError has the reason.
"""

from tests.devcluster.access import Access, default_kubeconfig, read_access
from tests.devcluster.api import Api
from tests.devcluster.control_plane import ControlPlane, cluster, start
from tests.devcluster.errors import (
    ApiError,
    ComponentError,
    ContextError,
    GuardianError,
    HarnessError,
    MissingProgramsError,
)
from tests.devcluster.fake_nodes import end_pod
from tests.devcluster.options import Options
from tests.devcluster.waiting import until

__all__ = [
    "Access",
    "Api",
    "ApiError",
    "ComponentError",
    "ContextError",
    "ControlPlane",
    "GuardianError",
    "HarnessError",
    "MissingProgramsError",
    "Options",
    "cluster",
    "default_kubeconfig",
    "end_pod",
    "read_access",
    "start",
    "until",
]
