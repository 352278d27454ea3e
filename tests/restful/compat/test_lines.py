"""Lines of several tasks, from chunks that end anywhere."""

from hypothesis import given
from hypothesis import strategies as st

from minicluster.instance.records import OutputChunk
from restful.compat.lines import OutputLines


def lines(*chunks: tuple[int, str, bytes]) -> list[str]:
    made, found = OutputLines(), []
    for number, (task, stream, data) in enumerate(chunks):
        found += made.add(OutputChunk(1, number, task, stream, data))
    return [*found, *made.rest()]


def test_lines_of_two_tasks_are_not_mixed() -> None:
    found = lines((0, "stdout", b"a"), (1, "stdout", b"b\nc"), (0, "stdout", b"1\n"), (1, "stderr", b"e\n"))
    assert found == ["b\n", "a1\n", "e\n", "c"]


def test_messages_of_the_shell_are_left_out() -> None:
    assert lines((0, "log", b"started\n"), (0, "stdout", b"x\n")) == ["x\n"]


def test_what_is_no_utf8_is_replaced() -> None:
    assert lines((0, "stdout", b"\xff\n\xf0\x9f")) == ["\ufffd\n", "\ufffd"]


@given(st.text(), st.integers(1, 7))
def test_chunks_may_end_within_a_character(text: str, size: int) -> None:
    data = text.encode()
    chunks = [(0, "stdout", data[start : start + size]) for start in range(0, len(data), size)]
    assert "".join(lines(*chunks)) == text
    assert lines(*chunks) == lines((0, "stdout", data))
