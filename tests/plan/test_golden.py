"""Whole documents rendered to YAML, compared with golden files (`pytest tests/plan --golden-write`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from minicluster import document as spec
from minicluster.plan import Site, render, to_yaml

HERE = Path(__file__).parent
KEPT = {"broker.toml", "R", "script"}
DOCUMENTS = sorted((HERE / "documents").glob("*.yaml"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_golden(request, document):
    """A document renders to what its golden file says."""
    (cluster,) = spec.load(document)
    site = Site(image_volumes=document.stem == "image-volume")
    rendered = to_yaml(map(_without_scripts, render(cluster, site)))
    golden = HERE / "golden" / document.name
    if request.config.getoption("--golden-write"):
        golden.write_text(rendered)
    assert rendered == golden.read_text()


def test_every_golden_file_has_a_document():
    """No golden file is left over."""
    assert {path.name for path in (HERE / "golden").iterdir()} == {path.name for path in DOCUMENTS}


def _without_scripts(item):
    """Scripts have golden files where they are made, in tests/broker_config."""
    if item["kind"] != "ConfigMap":
        return item
    shown = {**item, "data": {name: text if name in KEPT else "…" for name, text in item["data"].items()}}
    return shown | ({"binaryData": dict.fromkeys(item["binaryData"], "…")} if "binaryData" in item else {})
