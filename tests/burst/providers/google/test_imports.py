"""Nobody imports Google's clients who makes no call by them: they take a second and 100 MB."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from importlib.metadata import entry_points
from burst.providers.plugins import kinds
found = kinds()
assert {"compute-engine", "gke"} <= found.kinds.keys(), found.problems
for each in (*found.kinds.values(), *(one.load() for one in entry_points(group="minicluster.commands"))):
    getattr(each, "settings", None)
print(*sorted(sys.modules), sep="\\n")
"""


def test_neither_the_kinds_nor_any_command_import_a_client_of_a_cloud() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "burst.providers.gke.settings" in loaded
    assert [each for each in loaded if each.split(".")[0] in {"google", "grpc", "boto3", "botocore"}] == []
