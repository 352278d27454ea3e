"""Images that were built from Dockerfiles, as archives in the layout of the Open Container Initiative."""

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.devcluster.images import INDEX, Entry, add, blob_name, index


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of one image, and the names that the image gets on nodes."""

    name: str
    file: Path
    aliases: Sequence[str] = ()
    """Further names, in full: of images in registries for which this one stands in."""

    def manifest(self) -> bytes:
        """Return the image's manifest; its digest identifies the image."""
        return self._blob(json.loads(self._read(INDEX))["manifests"][0])

    def config(self) -> Mapping[str, Any]:
        """Return the image's configuration."""
        found: Mapping[str, Any] = json.loads(self._blob(json.loads(self.manifest())["config"]))
        return found

    def write(self, file: Path) -> None:
        """Copy the archive, with the image's names in its index."""
        with tarfile.open(self.file) as source, tarfile.open(file, "w") as target:
            add(target, INDEX, Entry(content=index(self.manifest(), (self.name, *self.aliases))))
            for entry in source:
                if entry.name != INDEX:
                    target.addfile(entry, source.extractfile(entry) if entry.isfile() else None)

    def _blob(self, reference: Mapping[str, Any]) -> bytes:
        return self._read(blob_name(reference["digest"]))

    def _read(self, name: str) -> bytes:
        with tarfile.open(self.file) as archive:
            stream = archive.extractfile(name)
            assert stream is not None, f"{name} is a folder in {self.file}"
            return stream.read()
