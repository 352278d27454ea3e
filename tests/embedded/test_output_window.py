"""Flow control of a job's output on its way to the lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from minicluster.embedded.execution.rank.output_window import WINDOW, OutputWindow

if TYPE_CHECKING:
    from minicluster.embedded.execution.rank.streams import OutputPump


class Pump:
    """Knows whether it reads."""

    def __init__(self) -> None:
        self.states = ["reads"]

    def pause(self) -> None:
        self.states.append("waits")

    def resume(self) -> None:
        self.states.append("reads")


@pytest.mark.parametrize(
    ("counts", "states"),
    [
        ([WINDOW], ["reads"]),
        ([WINDOW, 1], ["reads", "waits"]),
        ([WINDOW, 1, 1], ["reads", "waits"]),
        ([WINDOW, 1, -WINDOW // 2], ["reads", "waits"]),
        ([WINDOW, 1, -WINDOW // 2, -1], ["reads", "waits", "reads"]),
        ([WINDOW, 1, -WINDOW, WINDOW], ["reads", "waits", "reads", "waits"]),
    ],
    ids=["a full window", "more", "more still", "half and a byte taken", "half taken", "full again"],
)
def test_tasks_wait_until_half_of_the_window_is_taken(counts: list[int], states: list[str]) -> None:
    """Bytes that are sent are above 0, those that the lead took below."""
    window = OutputWindow()
    pumps = [Pump(), Pump()]
    for pump in pumps:
        window.add(cast("OutputPump", pump))
    for count in counts:
        if count > 0:
            window.sent(count)
        else:
            window.taken(-count)
    assert [pump.states for pump in pumps] == [states, states]
