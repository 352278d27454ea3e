"""Draws the picture of docs/burst-money.md: `python -m tests.burst.costs.picture` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from burst.costs.report import page
from tests.burst.costs.reported import BEGIN, HOUR, lived, report, still_there

PICTURE = Path(__file__).parents[3] / "docs" / "burst-report.svg"
STYLE = """\
text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: #555 }
.l { font-size: 12px; fill: #222 }
.g { stroke: #ddd }
.s-planned { fill: #9aa7b4 }
.s-provisioning { fill: #e8b33c }
.s-joining { fill: #6aaed6 }
.s-active { fill: #2f9e57 }
.s-draining { fill: #a878c8 }
.s-deleting { fill: #d9534f }
"""


def drawn() -> str:
    """Return two of the charts of a page, one above the other."""
    bursts = [
        lived(1, BEGIN + HOUR),
        lived(2, BEGIN + 1.5 * HOUR, provider="near", nodes=2),
        still_there(3, BEGIN + 3 * HOUR),
    ]
    html = page(report(bursts, now=BEGIN + 6 * HOUR, budget=30))
    gantt, _, money = re.findall(r'<svg viewBox="0 0 (\d+) (\d+)"[^>]*>(.*?)</svg>', html, re.DOTALL)
    width, height = int(gantt[0]), int(gantt[1]) + int(money[1])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n<style>\n{STYLE}</style>\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{gantt[2]}\n'
        f'<g transform="translate(0 {gantt[1]})">{money[2]}</g>\n</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
