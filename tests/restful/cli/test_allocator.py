"""What a burst of logins needs is given back."""

import subprocess
import sys

PROGRAM = """
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from argon2 import PasswordHasher
from restful.cli.allocator import return_large_blocks

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

return_large_blocks()
hasher, together = PasswordHasher(memory_cost=19_456, time_cost=1, parallelism=1), Barrier(4)

def work(_):
    together.wait()
    for _ in range(3):
        hasher.hash("a password")
    together.wait()

before = resident()
with ThreadPoolExecutor(4) as threads:
    list(threads.map(work, range(4)))
    print(resident() - before)
"""
MAX_KIB = 19_456
"""Less than what one hash needs: four threads have had several."""


def test_the_memory_of_hashes_goes_back_to_the_system() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) < MAX_KIB
