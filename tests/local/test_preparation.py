"""A cluster's files on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from minicluster import flux_zips
from minicluster.local import documents
from minicluster.local.preparation import prepare
from minicluster.local.site import Engine
from minicluster.local.state_directory import ClusterDirectory

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: 2
  flux: {scheduler: {queuePolicy: minicluster/easy}}
  archive: {path: /tmp/archive}
  containers: [{image: x}]
"""


@pytest.mark.parametrize(
    ("name", "packed"),
    [(flux_zips.ZIP, flux_zips.pack), (flux_zips.SCHEDULER_ZIP, flux_zips.pack_scheduler)],
    ids=["what saves its jobs", "what schedules them"],
)
def test_real_flux_finds_what_it_imports_of_ours(tmp_path: Path, name, packed) -> None:
    """Beside broker.toml and the other texts, as in a pod."""
    directory = ClusterDirectory(tmp_path)
    directory.config.mkdir()
    parsed = documents.parse(DOCUMENT, "x.yaml")
    with prepare(parsed, directory, Engine("flux", "/x/flux"), tmp_path, print).ports:
        pass
    assert (directory.config / name).read_bytes() == packed()
