"""Hooks with mistakes: their orders are refused, and the program learns of the error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.malleable import Program, events
from tests.malleable.recording import RecordingHooks, joins, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.malleable import Shrink
    from tests.malleable.played import Played


def test_a_hook_that_names_wrong_workers_is_a_mistake_of_the_program(play: Callable[..., Played]) -> None:
    """The order is over; a program that catches the error gets others."""

    class Wrong(RecordingHooks):
        def before_shrink(self, order: Shrink) -> Sequence[int]:
            return [0]

    played = play(size=2)
    with Program(Wrong(), played.environment()) as program:
        played.shrink(1)
        with pytest.raises(ValueError, match=r"returned \[0\]: expected 1 of \[1\]"):
            program.poll(30)
        refused = played.expect(events.ResizeRefused)
        assert refused.reason == "ValueError: before_shrink returned [0]: expected 1 of [1]"
        assert played.session.accepts_resize


@pytest.mark.parametrize("hook", ["before_grow", "before_shrink"])
def test_a_hook_with_a_mistake_refuses_its_order(play: Callable[..., Played], hook: str) -> None:
    """With the error, cut where it is long; a program that catches the error gets other orders."""
    hooks = RecordingHooks(fails=hook)
    played = play(size=2)
    with Program(hooks, played.environment()) as program:
        played.grow("h3") if hook == "before_grow" else played.shrink()
        with pytest.raises(KeyError, match="row 7") as raised:
            program.poll(30)
        files = [Path(str(entry.path)).name for entry in raised.traceback]
        assert files[:2] == ["test_hook_mistakes.py", "program.py"]
        assert set(files[2:]) == {"recording.py"}, "the hook's file, and nothing of how it was called"
        reason = played.expect(events.ResizeRefused).reason
        assert (reason[:15], len(reason)) == ("KeyError: 'row ", 1000)
        assert played.session.accepts_resize


def test_a_mistake_once_the_workers_are_there_ends_them(play: Callable[..., Played]) -> None:
    hooks = RecordingHooks(fails="after_grow")
    box: list[Played] = []
    box.append(play(size=1, start=joins(box)))
    with Program(hooks, box[0].environment()) as program:
        box[0].grow("h3")
        with pytest.raises(KeyError, match="row 7"):
            until(program, lambda: False)
        expired = box[0].expect(events.ResizeExpired)
        assert (expired.workers, expired.reason[:17]) == ((1,), "refused: KeyError")
        assert program.size == 1
