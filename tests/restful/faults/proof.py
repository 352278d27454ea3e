"""What the programs of `make prove-rest` have in common: an instance, a PostgreSQL, and how they end."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.embedded.broker.launcher import write_bin
from tests.conformance.laboratory import Laboratory

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def instance() -> Iterator[Laboratory]:
    """Give an embedded instance of two brokers, in a folder of its own with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="mcr-"))
    laboratory = Laboratory("embedded", write_bin(folder / "bin").parent, folder / "e", reached="embedded")
    try:
        laboratory.start()
        yield laboratory
    finally:
        laboratory.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Proof:
    """Facts with their figures, each on a line; at the end the process fails if one does not hold."""

    def __init__(self) -> None:
        logging.disable(logging.ERROR)  # what a service writes of the faults that are the proof
        self._began = time.monotonic()
        self._failed = 0

    def fact(self, words: str, *, holds: bool) -> None:
        """Print whether something holds."""
        self._failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {words}", flush=True)

    def end(self) -> None:
        """Print how long it took, and end the process."""
        print(f"     in {time.monotonic() - self._began:.0f} s", flush=True)
        sys.exit(1 if self._failed else 0)
