"""Each listed `flux` command line, on each engine: output, errors and exit code as on real Flux 0.88."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance import masks
from tests.conformance.left_as_found import leave_as_found
from tests.conformance.transcripts import LISTED, Transcript
from tests.conformance.transcripts_bursting import BURSTING
from tests.conformance.transcripts_instance import INSTANCE
from tests.conformance.transcripts_jobs import JOBS
from tests.conformance.transcripts_queues import QUEUES
from tests.conformance.transcripts_selection import SELECTION
from tests.conformance.transcripts_submission import SUBMISSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.laboratory import CommandOutput, Laboratory

TRANSCRIPTS: tuple[Transcript, ...] = (*SUBMISSION, *JOBS, *SELECTION, *INSTANCE, *QUEUES, *BURSTING)
GOLDEN = Path(__file__).with_name("golden") / "commands"


def perform(transcript: Transcript, lab: Laboratory) -> list[str]:
    """Run the lines and return what each said, masked."""
    known: dict[str, str] = {}
    blocks: list[str] = []
    for line in transcript.lines:
        name, command = line if isinstance(line, tuple) else ("", line)
        output = lab.run_line(command, known)
        if name:
            known[name] = output.stdout.strip()
        blocks.append(block(f"{name}=$({command})" if name else command, output, known, str(lab.folder)))
    return blocks


def block(command: str, output: CommandOutput, known: dict[str, str], folder: str) -> str:
    """One line and its answer, as text."""
    printed = masks.text(output.stdout, known, folder).splitlines()
    complained = sorted(masks.text(output.stderr, known, folder).splitlines())
    return "\n".join(
        [f"$ {command}", *printed, *(f"stderr: {line}" for line in complained), f"[{output.code}]"]
    )


def compare(transcript: Transcript, lab: Laboratory, record: bool) -> None:
    """Compare each line's answer with the recorded one; or record it."""
    golden = GOLDEN / f"{transcript.name}.txt"
    seen = perform(transcript, lab)
    if record:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("\n\n".join(seen) + "\n")
    expected = golden.read_text().rstrip("\n").split("\n\n$ ")
    expected = [expected[0], *(f"$ {text}" for text in expected[1:])]
    wrong = [
        f"on Flux:\n{one}\nhere:\n{other}" for one, other in zip(expected, seen, strict=True) if one != other
    ]
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)


@pytest.mark.parametrize("engine", ["embedded", "flux"], indirect=True, scope="session")
@pytest.mark.parametrize("transcript", [pytest.param(each, id=each.name) for each in TRANSCRIPTS])
def test_a_command_line_prints_what_it_prints_on_flux(
    transcript: Transcript, lab: Laboratory, fresh: Callable[..., Laboratory], request: pytest.FixtureRequest
) -> None:
    where = lab
    if transcript.fresh:
        options = ("-Sbroker.quorum=2",) if transcript.absent else ()
        where = fresh(transcript.extra, *options, properties=transcript.properties, absent=transcript.absent)
    try:
        compare(transcript, where, request.config.getoption("--golden-write"))
    finally:
        if not transcript.fresh:
            with lab.connect() as instance:
                leave_as_found(instance)


def test_every_listed_command_has_a_line() -> None:
    """A listed command without a line would be an unproved promise."""
    lines = [line if isinstance(line, str) else line[1] for each in TRANSCRIPTS for line in each.lines]
    uncovered = []
    for command in LISTED:
        name, _, option = command.partition(" --")
        wanted = rf"\bflux {re.escape(name)}" + (rf"\b[^|;]*--{option}\b" if option else "")
        if not any(re.search(wanted, line) for line in lines):
            uncovered.append(command)
    assert uncovered == []


def test_every_recorded_transcript_has_its_lines() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {each.name for each in TRANSCRIPTS}
