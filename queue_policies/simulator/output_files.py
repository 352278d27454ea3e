"""The files that a simulation is to write, checked before it runs: it may take hours."""

from __future__ import annotations

import os
from pathlib import Path

from queue_policies.simulator import listing
from queue_policies.simulator.errors import OutputError

_OTHER_FORMATS = (".pdf", ".png", ".svg", ".json", ".csv", ".parquet", ".txt", ".md")


def check(csv: str = "", parquet: str = "", report: str = "") -> None:
    """Raise OutputError where one of the files cannot be written, or asks for another format."""
    for path in filter(None, (csv, parquet, report)):
        _check_writable(Path(path))
    if parquet:
        listing.arrow(parquet)
    if Path(report).suffix.lower() in _OTHER_FORMATS:
        page = Path(report).with_suffix(".html")
        raise OutputError(f"{report}: a report is a page in HTML; right would be {page}")


def _check_writable(path: Path) -> None:
    target = path if path.exists() else path.parent
    if not target.exists():
        raise OutputError(f"{path}: there is no directory {target}; nothing was simulated")
    if path.is_dir():
        raise OutputError(f"{path}: is a directory; needed is the name of a file")
    if not os.access(target, os.W_OK):
        raise OutputError(f"{path}: {target} cannot be written; nothing was simulated")
