"""The output of a job behind an entry, from a broker that leaves out the others, or that sends all."""

from __future__ import annotations

import pytest

from minicluster.instance.job_logs import OutputDecoder


def line(text: str) -> str:
    context = f'{{"stream":"stdout","rank":"0","data":"{text}"}}'
    return f'{{"timestamp":1.0,"name":"data","context":{context}}}\n'


HEADER = '{"timestamp":1.0,"name":"header","context":{"version":1}}\n'


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([{"event": HEADER + line("a") + line("b") + line("c")}], id="all at once, of 0.1.0"),
        pytest.param([{"event": each} for each in (HEADER, line("a"), line("b"), line("c"))], id="of 0.1.0"),
        pytest.param([{"event": line("b"), "entry": 2}, {"event": line("c"), "entry": 3}], id="skipped"),
        pytest.param([{"event": line("b") + line("c"), "entry": 2}], id="skipped, at once"),
    ],
)
def test_what_is_behind_an_entry_has_the_same_numbers_from_every_broker(items: list[dict[str, str]]) -> None:
    decode = OutputDecoder(7, after=1)
    chunks = [chunk for item in items for chunk in decode(item)]
    assert [(chunk.sequence, chunk.data) for chunk in chunks] == [(2, b"b"), (3, b"c")]
