"""What an administrator sets of the pods of bursts, for every provider that runs them."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic reads the annotations

from pydantic import Field

from minicluster.document.container import Volume  # noqa: TC001 - as above
from minicluster.document.record import Record

Texts = dict[str, str]


class PodSettings(Record):
    """A namespace of a Kubernetes cluster, how the cluster is reached, and what pods have there."""

    kubeconfig: Path | None = Field(
        None,
        description="File of the administrator's, with its certificates and token inside; plug-ins that run"
        " programs are refused. Absent: the service account of the service's own pod.",
    )
    context: str = Field("", description="Context of the kubeconfig; absent: its current one.")
    namespace: str = Field(
        description="Where bursts run; it has to be there, and should be for them alone.",
        pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
    )
    image: str = Field("", description="Image in place of the MiniCluster's own.")
    service_account: str = Field(
        "", description="Service account of the pods; none of its tokens is mounted."
    )
    image_pull_secrets: tuple[str, ...] = Field((), description="Secrets there with which images are pulled.")
    runtime_class: str = Field("", description="RuntimeClass of the pods.")
    priority_class: str = Field("", description="PriorityClass of the pods.")
    job_labels: Texts = Field(default_factory=dict, description="Labels of the Job, such as Kueue's queue.")
    volumes: dict[str, Volume] = Field(
        default_factory=dict, description="In place of the MiniCluster's volumes of these names."
    )
    existing: tuple[str, ...] = Field(
        (), description="Claims, ConfigMaps and Secrets of MiniClusters that are there as well, by name."
    )
