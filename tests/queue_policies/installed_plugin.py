"""A policy plug-in as an installer leaves it: a module, and the metadata of its distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def install_plugin(
    site: Path, name: str, module: str, text: str, group: str = "minicluster.policies"
) -> None:
    """Write the entry point `name = module` of a group; no module where there is no text."""
    metadata = site / f"{name}-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
    if text:
        (site / f"{module}.py").write_text(text)
