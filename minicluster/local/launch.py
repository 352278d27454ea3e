"""`minicluster up`: starts a supervisor and waits until its cluster is up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

from minicluster.backends.records import AS_WRITTEN
from minicluster.local import documents, site, state_directory, state_file
from minicluster.local.control import SupervisorRefused
from minicluster.local.errors import BringUpFailed, ClusterExists, Interrupted, UsageProblem
from minicluster.local.interrupts import Interrupts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.backends.documents import DocumentText
    from minicluster.backends.port import Reporter
    from minicluster.backends.records import PlacementRequest
    from minicluster.local.state_directory import ClusterDirectory

END = 15.0


def up(  # noqa: PLR0913 - an option each
    document: DocumentText,
    reporter: Reporter,
    *,
    name: str = "",
    size: int | None = None,
    policy: str = "",
    cores: PlacementRequest = AS_WRITTEN,
    engine: str = "auto",
    restore: str = "",
    decisions: str = "",
    oversubscribe: bool = False,
) -> str:
    """Bring a persistent cluster up, and return its name. Raises LocalError."""
    source = documents.parse(document.text, document.source, name)
    asked = documents.with_request(source, size=size, policy=policy, cores=cores)
    site.check_brokers(asked.cluster.spec.size, oversubscribe=oversubscribe)
    if restore and not (Path(restore).is_file() and os.access(restore, os.R_OK)):
        raise UsageProblem(f"--restore {restore}: there is no such file, or it cannot be read")
    if decisions:
        _check_appendable(Path(decisions))
    called = source.cluster.metadata.name
    task = {
        "text": document.text,
        "place": document.source,
        "name": name,
        "size": size,
        "policy": policy,
        "cores": list(cores),
        "engine": engine,
        "restore": str(Path(restore).resolve()) if restore else "",
        "decisions": str(Path(decisions).resolve()) if decisions else "",
        "working_directory": str(Path.cwd()),
    }
    with Interrupts() as interrupts:
        process = None
        try:
            with interrupts.deferred():  # what has begun is known, so that it can be ended
                directory = _claimed(called)
                process = _started(directory, task)
            _await(process, reporter)
        except Interrupted:
            interrupts.begin_cleanup()
            if process is not None:
                _end(process, directory)
            raise
    _let_go(process)
    return called


def _check_appendable(path: Path) -> None:
    """Raise UsageProblem for a file to which decisions cannot be appended."""
    if not path.parent.is_dir():
        raise UsageProblem(f"--decisions {path}: there is no directory {path.parent}")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageProblem(f"--decisions {path}: cannot be written; needed is the name of a file")


def _claimed(name: str) -> ClusterDirectory:
    """Make the cluster's directory; what a dead supervisor left is removed first."""
    try:
        return state_directory.create(name, unique=False)
    except FileExistsError:
        directory = state_directory.find(name)
    state = state_file.read(directory)
    alive = state_file.is_alive(state) if state else not state_file.is_abandoned(directory)
    if alive:
        raise ClusterExists(f"cluster {name}: is up already; `minicluster down {name}` ends it")
    state_file.clean(directory)
    return state_directory.create(name, unique=False)


def _started(directory: ClusterDirectory, task: Mapping[str, object]) -> subprocess.Popen[bytes]:
    with directory.log("supervisor").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "minicluster.local.supervisor", str(directory.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    stdin: IO[bytes] | None = process.stdin
    if stdin is not None:
        stdin.write(json.dumps(task).encode())
        stdin.close()
    return process


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Let the supervisor run on alone; where it ends before this process, a thread reaps it."""
    if process.stdout is not None:
        process.stdout.close()
    threading.Thread(target=process.wait, daemon=True).start()


def _end(process: subprocess.Popen[bytes], directory: ClusterDirectory) -> None:
    with process:
        process.send_signal(signal.SIGTERM)
        process.wait(END)
    if directory.path.exists():  # the supervisor ended before it had begun to handle signals
        state_file.clean(directory)


def _await(process: subprocess.Popen[bytes], reporter: Reporter) -> None:
    for line in process.stdout or ():
        report = json.loads(line)
        if "joined" in report:
            reporter.bring_up(report["joined"], report["size"])
        elif "notice" in report:
            reporter.notice(report["notice"])
        elif "error" in report:
            process.wait()
            raise SupervisorRefused(report["error"], report["exit_code"])
        else:
            reporter.started()
            return
    raise BringUpFailed(f"the cluster's supervisor ended with exit code {process.wait()}")
