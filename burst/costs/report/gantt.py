"""Which burst had which slot when, and in which state it was, as SVG."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from burst.costs.report import dates
from burst.costs.report.dates import DateAxis
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.costs.report.records import ReportData, ReportedBurst

WIDTH, RIGHT, TOP, BOTTOM = 1080, 16, 8, 40
CHARACTER = 6.6
"""The width of a character of a label."""
MAX_LABEL = 44
ROW, BAR = 22, 15
STATES = tuple(each for each in BurstState if each not in {BurstState.REQUESTED, BurstState.DELETED})
"""Those of the legend: in the two others a burst has no slot."""


def legend() -> str:
    """Return the states with their colours."""
    return "".join(f'<span class="k"><b class="s-{each}"></b>{each}</span>' for each in STATES)


def gantt(data: ReportData) -> str:
    """Return the chart: a line a slot, a bar for each state."""
    titles = data.titles()
    lines = sorted({titles[each.burst.label] for each in data.bursts if _has_slot(each)})
    left = min(max(map(len, lines), default=0), MAX_LABEL) * CHARACTER + 14
    axis = DateAxis(data.begin, max(data.now, data.begin + 1), "time, UTC")
    height = TOP + ROW * len(lines) + BOTTOM
    parts = [*_frame(axis, lines, left)]
    for each in data.bursts:
        if _has_slot(each):
            top = TOP + ROW * lines.index(titles[each.burst.label]) + (ROW - BAR) / 2
            parts += _bars(each, axis, left, top, data)
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">{"".join(parts)}</svg>'


def _has_slot(reported: ReportedBurst) -> bool:
    return any(state in STATES for _, state in reported.states)


def _bars(
    reported: ReportedBurst, axis: DateAxis, left: float, top: float, data: ReportData
) -> Iterator[str]:
    burst = reported.burst
    for span in reported.spans(data.now):
        if span.state not in STATES:
            continue
        begin, end = (axis.position(at, left, WIDTH - RIGHT) for at in (span.begin, span.end))
        words = f"{burst.label} ({burst.provider}, {burst.nodes} nodes): {span.state}"
        title = html.escape(f"{words} from {dates.shown(span.begin)} to {dates.shown(span.end)}")
        yield (
            f'<rect class="s-{span.state}" x="{begin:.1f}" y="{top:.1f}" width="{max(end - begin, 0.8):.1f}"'
            f' height="{BAR}"><title>{title}</title></rect>'
        )


def _frame(axis: DateAxis, lines: list[str], left: float) -> Iterator[str]:
    bottom = TOP + ROW * len(lines)
    for value, word in axis.ticks():
        at = axis.position(value, left, WIDTH - RIGHT)
        yield f'<line class="g" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{bottom}"/>'
        yield f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{word}</text>'
    for number, name in enumerate(lines):
        y = TOP + ROW * number + ROW / 2
        cut = name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"
        yield f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{html.escape(cut)}</text>'
    middle = f'x="{(left + WIDTH) / 2:.1f}" y="{bottom + 34}"'
    yield f'<text class="l" {middle} text-anchor="middle">{axis.title}</text>'
