"""Files that browsers keep for ever: the path of each has a digest of its content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class StaticFile(NamedTuple):
    """A file, and where it is served."""

    path: str
    content: bytes
    media_type: str


def _read(file: Path) -> StaticFile:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return StaticFile(f"/static/{digest}/{file.name}", content, MEDIA_TYPES[file.suffix])


FILES = {each.name: _read(each) for each in sorted(FOLDER.iterdir()) if each.suffix in MEDIA_TYPES}
"""By their names in the folder `static`."""
BY_PATH = {each.path: each for each in FILES.values()}


def static(name: str) -> str:
    """Return where a file is served; templates call it."""
    return FILES[name].path
