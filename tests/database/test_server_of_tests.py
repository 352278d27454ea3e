"""The tests' own PostgreSQL leaves nothing behind, however the process ends that has it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.database.postgresql import Server
from tests.devcluster.waiting import until

PROGRAM = """
import sys
from pathlib import Path
from tests.database import postgresql
server = postgresql.Server(Path(sys.argv[1]))
print(server.pid, server.folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent_and_leaves_no_files(postgresql: Server, signum: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM, str(postgresql.programs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        parent.send_signal(signum)
        parent.wait()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the server to end", 30.0)
    until(lambda: not Path(folder).exists(), "its files to go", 30.0)
    assert postgresql.pid
    os.kill(postgresql.pid, 0)
