"""The Flux module `minicluster-sched`: a scheduler with the queue policies of the zip beside this file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

ZIP = str(Path(__file__).absolute().with_name("flux_scheduler.zip"))
OLDEST = (3, 10)


def mod_main(handle: Any, *arguments: str) -> None:
    """Run until the broker unloads the module. An error ends the instance, which reports it."""
    if sys.version_info < OLDEST:
        raise RuntimeError(
            f"minicluster-sched needs Python {OLDEST[0]}.{OLDEST[1]} or newer: Flux has {sys.version}"
        )
    try:
        import flux.scheduler  # noqa: F401, PLC0415 - asked whether it is there
    except ImportError:
        raise RuntimeError(
            "minicluster-sched needs flux.scheduler, which this Flux does not have: 0.88 or newer is right"
        ) from None
    sys.path.insert(0, ZIP)
    from minicluster.flux_scheduler import flux_module  # noqa: PLC0415 - it is in the zip

    flux_module.mod_main(handle, *arguments)
