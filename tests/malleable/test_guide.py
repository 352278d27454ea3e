"""docs/malleable.md is true: its program runs, its lines are what is spoken."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable import events, messages
from minicluster.malleable.credentials import proof

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.malleable.played import Played

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "malleable.md").read_text()
LINES = re.findall(r"^\| (instance|program|worker) \| `(.*?)` \|", TEXT, re.MULTILINE)


@pytest.mark.parametrize("page", ["malleable.md", "python-api.md"])
def test_its_program_grows_and_shrinks(play: Callable[..., Played], tmp_path: Path, page: str) -> None:
    """So does that of the Python API's page."""
    path = tmp_path / "app.py"
    programs = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    (program,) = (each for each in programs if "Hooks" in each)
    endless, changed = re.subn(r"range\(\d+\)", "range(10**9)", program)
    assert changed == 1
    path.write_text(endless)
    command = [sys.executable, str(path)]
    box: list[Played] = []
    box.append(play(start=lambda task, order: box[0].launch(task, order, command, {})))
    box[0].launch(0, 0, command, {})
    box[0].expect(events.ProgramRegistered)
    box[0].grow("h1", "h2")
    assert box[0].expect(events.JobResized).size == 3
    box[0].shrink(1)
    assert box[0].expect(events.JobResized, 2).lost == (2,)
    assert box[0].tasks.processes[2].wait(60) == 0


@pytest.mark.parametrize(("speaker", "line"), LINES, ids=lambda value: value[:24])
def test_its_lines_are_of_the_protocol(speaker: str, line: str) -> None:
    text = line.replace(",…]", "]").encode()
    message = messages.parse_to_program(text) if speaker == "instance" else messages.parse_to_instance(text)
    assert json.loads(messages.encode(message)).items() >= json.loads(text).items()


def test_it_has_a_line_of_every_type() -> None:
    kinds = {*messages._TO_INSTANCE, *messages._TO_PROGRAM}
    assert {json.loads(line.replace(",…]", "]"))["type"] for _, line in LINES} == kinds


def test_its_recipe_for_a_proof_is_right() -> None:
    """Written down by hand, as a program in another language would do it."""
    import hashlib  # noqa: PLC0415 - only here
    import hmac  # noqa: PLC0415

    text = '["n0","join","\\u01922kPX",5,7,"h:1"]'
    wanted = hmac.new(b"0123abcd", text.encode(), hashlib.sha256).hexdigest()
    assert proof("0123abcd", "n0", "join", "ƒ2kPX", 5, 7, "h:1") == wanted
