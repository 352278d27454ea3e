"""The process of a tunnel in a pod: `python -m burst.providers.kubernetes.tunnel.pod_process TASK`.

TASK is JSON. While a follower would be led to the lead there is the file READY, for the pod's probe. The
pod's Job begins it anew whenever it ends, unless the burst's time is over: also when a node is drained.
Why it cannot run at all is its termination message, which the service reads with the pod.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from burst.providers.kubernetes.tunnel.reach import ENDED, OVER, TunnelReach
from burst.providers.kubernetes.tunnel.records import task_of
from burst.providers.side_process import log
from minicluster.kube_client.errors import KubernetesError

if TYPE_CHECKING:
    from burst.providers.kubernetes.tunnel.records import ReachStatus, ReachTask

READY = Path("/tmp/ready")  # noqa: S108 - a volume of the container's own
TERMINATION_MESSAGE = Path("/dev/termination-log")
_END = 143
"""The exit code after SIGTERM: 0 would be the end of the Job."""


class PodSignals:
    """What a pod shows of its tunnel."""

    def __init__(self, ready: Path = READY) -> None:
        self._ready = ready
        self.refusal = ""
        """Why an API server has not allowed the tunnel from the first try on; empty: it did."""

    def show(self, status: ReachStatus) -> None:
        """Show a status."""
        if status.is_ready:
            self._ready.touch()
        else:
            self._ready.unlink(missing_ok=True)
        if status.refused and not status.reached:
            self.refusal = status.problem


async def live(task: ReachTask, shown: PodSignals) -> bool:
    """Connect until it is over, or is refused; return whether its time is over. Raises KubernetesError."""

    def report(status: ReachStatus) -> None:
        shown.show(status)
        if shown.refusal:
            found.end()

    found = TunnelReach(task, report)
    return await found.live()


def main(text: str, ready: Path = READY, message: Path = TERMINATION_MESSAGE) -> int:
    """Live a tunnel's life; return the exit code, 0 when the burst's time is over."""
    task = task_of(json.loads(text))
    if task is None:
        log("there is no task in the argument")
        return 2
    shown = PodSignals(ready)
    try:
        is_over = asyncio.run(live(task, shown))
    except KubernetesError as error:
        return _failed(str(error), message, is_refused=False)
    finally:
        ready.unlink(missing_ok=True)
    if shown.refusal and not is_over:
        return _failed(shown.refusal, message, is_refused=True)
    log(f"over: {OVER if is_over else ENDED}")
    return 0 if is_over else _END


def _failed(text: str, message: Path, *, is_refused: bool) -> int:
    log(text)
    message.write_text(json.dumps({"error": text, "refused": is_refused}))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
