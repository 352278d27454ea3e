"""What the lead and the ranks tell each other about jobs: types, records, and the bytes on the wire."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

from minicluster.embedded.execution import messages
from minicluster.embedded.execution.messages import MessageType

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
"""What was sent for the same jobs while messages were plain dicts, sorted."""


def test_the_bytes_on_the_wire_stay(short_dir: Path) -> None:
    program = [sys.executable, "-m", "tests.embedded.two_ranks", str(short_dir)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, sorted(done.stdout.splitlines())) == ("", GOLDEN.read_text("utf-8").splitlines())


def test_every_type_is_sent_there() -> None:
    types = {kind.name for kind in vars(messages).values() if isinstance(kind, MessageType)}
    assert set(re.findall(r'\t\{"type":"([^"]*)"', GOLDEN.read_text("utf-8"))) == types


def test_each_record_has_a_type_by_which_its_handler_is_found() -> None:
    """One each, in both directions."""
    records = [*get_args(messages.ToRank), *get_args(messages.ToLead)]
    types = [kind.name for kind in vars(messages).values() if isinstance(kind, MessageType)]
    assert sorted(types) == sorted(get_args(get_type_hints(record)["type"])[0] for record in records)
