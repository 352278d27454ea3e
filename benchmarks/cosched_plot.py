"""The experts' weights over time, as an SVG file of its own: one chart, sets one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from queue_policies.simulator.report.axis import Axis, time_unit
from queue_policies.simulator.report.drawing import HEIGHT, WIDTH, colour, curves

if TYPE_CHECKING:
    from cosched_cells import Cell

STYLE = (
    "text{font:11px sans-serif;fill:#333}.g{stroke:#ddd}.l{font-weight:bold}"
    "polyline{stroke-width:2}rect{fill:#fff}"
)
KEY_LINE, KEY_WIDTH = 18, 270


def lines(cell: Cell) -> tuple[float, list[tuple[str, list[tuple[float, float]]]]]:
    """The end of the last set, and for each expert the corners of its weight over time."""
    names = [name for name, _ in next(samples[0] for samples in cell.weights if samples).weights]
    found: dict[str, list[tuple[float, float]]] = {name: [(0.0, 1 / len(names))] for name in names}
    offset = 0.0
    for samples, (begin, end) in zip(cell.weights, cell.spans, strict=True):
        for sample in samples:
            for name, weight in sample.weights:
                points = found[name]
                points += [
                    (offset + sample.time - begin, points[-1][1]),
                    (offset + sample.time - begin, weight),
                ]
        offset += end - begin
    for points in found.values():
        points.append((offset, points[-1][1]))
    return offset, list(found.items())


def write(path: str, cell: Cell, title: str) -> None:
    """Write the chart. Raises OSError."""
    end, found = lines(cell)
    top = max(weight for _, points in found for _, weight in points)
    chart = curves(
        Axis(0, end, "time, sets one after the other", time_unit(end)),
        Axis(0, min(1.0, 1.1 * top), title, percent=True),
        found,
    )
    body = chart[chart.index(">") + 1 : chart.rindex("<")]
    keys = []
    for index, (name, _) in enumerate(found):
        x, y = 70 + index % 4 * KEY_WIDTH, HEIGHT + 20 + index // 4 * KEY_LINE
        keys.append(
            f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{colour(index)}" stroke-width="3"/>'
        )
        keys.append(f'<text x="{x + 30}" y="{y + 4}">{name}</text>')
    height = HEIGHT + 30 + (len(found) + 3) // 4 * KEY_LINE
    size = f'width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {size}>'
    frame = f"<style>{STYLE}</style><rect {size}/>"
    Path(path).write_text(f"{head}{frame}{body}{''.join(keys)}</svg>\n", encoding="utf-8")
