"""A frobnicator of Flux's ingest: jobs that only a burst can run go into its waiting room when submitted.

Flux imports it by its path in `[ingest.frobnicator]`, behind `defaults` and before `constraints`, which
writes the queue's properties into the jobspec. The code is in the zip beside this file. What it raises the
submitter reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flux.job.frobnicator import FrobnicatorPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

sys.path.insert(0, str(Path(__file__).absolute().with_name("flux_modules.zip")))

from broker_config.formats import resource_set
from minicluster.burst_routing import routing


class Frobnicator(FrobnicatorPlugin):  # type: ignore[misc] # the base is untyped
    """Routes jobs by what broker.toml and R say when the instance starts."""

    def configure(self, _args: Any, config: Mapping[str, Any]) -> None:
        """Read the slots, the default queue, and the MiniCluster's own nodes."""
        text = Path(config["resource"]["path"]).read_text(encoding="utf-8")
        self._routing = routing.configured(config, resource_set.nodes_of(json.loads(text)))

    def frob(self, submitted: Any, *_about: object) -> None:
        """Change the jobspec's queue. Raises ValueError, with which Flux refuses the job."""
        if self._routing is None:
            return
        queue = routing.route(submitted.jobspec, self._routing)
        if queue is not None:
            submitted.setattr("system.queue", queue)
