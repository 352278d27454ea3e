"""What `minicluster scale` prints of a size."""

from __future__ import annotations

import pytest

from minicluster.backends.records import ScaleResult
from minicluster.cli.scale import changed


@pytest.mark.parametrize(
    ("done", "text"),
    [
        pytest.param(ScaleResult(2, 3), "2 → 3 brokers", id="done"),
        pytest.param(ScaleResult(2, 3, is_done=False), "2 → 3 brokers asked for", id="asked for"),
        pytest.param(ScaleResult(2, 2), "has 2 brokers already", id="the same"),
        pytest.param(ScaleResult(2, 3, parts=4), "size 2 → 3, 8 → 12 brokers", id="brokers that were cut"),
        pytest.param(
            ScaleResult(2, 3, is_done=False, parts=4),
            "size 2 → 3, 8 → 12 brokers asked for",
            id="cut, asked for",
        ),
        pytest.param(ScaleResult(2, 2, parts=4), "has 8 brokers already, its size is 2", id="cut, the same"),
    ],
)
def test_sizes_are_in_brokers_and_in_those_of_the_document(done: ScaleResult, text: str) -> None:
    assert changed(done) == text
