"""A back end's plug-in as an installer leaves it: the metadata of its distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def install_backend(site: Path, name: str, value: str) -> None:
    """Write the entry point `name = value`."""
    metadata = site / f"{name}-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[minicluster.backends]\n{name} = {value}\n")
