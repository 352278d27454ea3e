"""Lines of a job's output are put together from chunks."""

from minicluster.instance.records import OutputChunk
from minicluster.instance.task_lines import MAX_LINE, TaskLines


def chunk(data: bytes, stream: str = "stdout", task: int = 0) -> OutputChunk:
    return OutputChunk(1, 0, task, stream, data)


def test_streams_and_tasks_have_their_own_lines() -> None:
    lines = TaskLines()
    assert not lines.feed(chunk(b"out"))
    assert not lines.feed(chunk(b"err", "stderr"))
    assert not lines.feed(chunk(b"two", task=2))
    assert lines.feed(chunk(b"put\r\nand")) == [b"output\r\n"]
    assert list(lines.rest()) == [("stderr", 0, b"err"), ("stdout", 2, b"two"), ("stdout", 0, b"and")]


def test_what_a_program_writes_over_is_passed_on() -> None:
    """As progress bars do, which end no line for a long time."""
    lines = TaskLines()
    assert lines.feed(chunk(b"10%\r20%\r")) == [b"10%\r"]
    assert lines.feed(chunk(b"30%\r")) == [b"20%\r"]


def test_a_line_without_end_is_passed_on_in_parts() -> None:
    lines = TaskLines()
    part = b"a" * MAX_LINE
    assert not lines.feed(chunk(part))
    assert lines.feed(chunk(b"b")) == [part + b"b"]
    assert not list(lines.rest())
