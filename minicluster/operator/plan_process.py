"""The worker process that reads and plans heavy documents: `python -m minicluster.operator.plan_process`.

Requests come on standard input and answers go to standard output, as pickles of the operator's own records,
each behind its length. It ends with its input. Its memory is limited to some megabytes above what it takes
when idle. So is the CPU time for each request, by a timer whose signal ends the process: not even a single
long call of C code outlives it.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from broker_config import curve, own_toml, settings
from minicluster import document
from minicluster import plan as planning
from minicluster.document.status import MAX_MESSAGE
from minicluster.operator import planned
from minicluster.operator.plan_messages import HEAD, READY, PlanAnswer, PlanRequest
from minicluster.operator.planned import PlanInputs
from minicluster.plan import FreshKeys, LeadKeys, Observed, Site

MEGABYTE = 1 << 20
LESS_URGENT = 5
"""How much nicer the process is to others than the operator, which has a Lease to renew."""

_SMALL = {
    "apiVersion": document.API_VERSION,
    "kind": document.KIND,
    "metadata": {"name": "idle", "namespace": "idle"},
    "spec": {
        "containers": [{"command": "hostname", "runFlux": True}, {"name": "beside", "command": "sleep 1"}],
        "services": [{"name": "service", "command": "sleep 1"}],
        "flux": {
            "brokerConfig": '[bootstrap]\nhosts = [{ host = "idle-0" }]\n',
            "scheduler": {"queuePolicy": "minicluster/easy"},
        },
    },
}


def main() -> None:
    """Answer requests until the input ends. The arguments are CPU-seconds and megabytes for each request."""
    seconds, megabytes = float(sys.argv[1]), float(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the operator, which then ends this process
    os.nice(LESS_URGENT)
    # What a library prints must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _answer(PlanRequest(_SMALL, _idle_inputs()))
    _limit_memory(megabytes)
    answers.write(READY)
    answers.flush()
    while head := sys.stdin.buffer.read(HEAD.size):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        written, ends = _answered(sys.stdin.buffer, *HEAD.unpack(head))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(HEAD.pack(len(written)) + written)
        answers.flush()
        if ends:
            return


def _answered(requests: IO[bytes], length: int) -> tuple[bytes, bool]:
    """Return the answer to the next request as a pickle, and whether this process must end after it."""
    try:
        request = pickle.loads(requests.read(length))  # noqa: S301  # the operator's own records
        return pickle.dumps(_answer(request)), False
    except MemoryError:
        return pickle.dumps(PlanAnswer(out_of_memory=True)), True


def _answer(request: PlanRequest) -> PlanAnswer:
    try:
        cluster = document.validate(request.item)
        if request.inputs is None:
            return PlanAnswer(subject=planned.subject(cluster))
        return PlanAnswer(planned=planned.plan(cluster, request.inputs))
    except document.DocumentError as error:
        _raise_memory_error(error)
        return PlanAnswer(problem=planned.problem(error)[: MAX_MESSAGE + 1])
    except planning.UnplannableError as error:
        _raise_memory_error(error)
        return PlanAnswer(unplannable=str(error))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # the operator reports it, as it does its own
        return PlanAnswer(defect=traceback.format_exc())
    finally:
        # What is kept of one document would count for the next one.
        own_toml.own.cache_clear()
        settings.listed_hosts.cache_clear()


def _raise_memory_error(error: Exception) -> None:
    """Raise the MemoryError that an error was made of: here it is a limit that the document has exceeded."""
    if isinstance(error.__cause__, MemoryError):
        raise error.__cause__


def _idle_inputs() -> PlanInputs:
    """Return inputs with which a plan loads everything that plans need."""
    keys = FreshKeys(curve.generate(), LeadKeys("", "", "", ""))
    return PlanInputs(Observed(), Site(lead_api=True), keys, datetime.now(UTC), None)


def _limit_memory(megabytes: float) -> None:
    """Limit this process to some megabytes more than it takes now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = int(status.partition("\nVmData:")[2].split()[0])
    limit = kilobytes * 1024 + int(megabytes * MEGABYTE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    main()
